#pragma once

#include <utility>

#include "convseq/spec/model_config.h"

namespace convseq {

// Keeps every product of two sizes within 64 bits.
inline constexpr int64_t kLargestSize = int64_t{1} << 24;

// The checks of a configuration that was just read. Each one refuses by origin, key, value and what
// is allowed.
class ConfigCheck {
 public:
  struct Range {
    double least;
    double most;
  };

  ConfigCheck(const ModelConfig& config, const JsonObject& json) : config_(config), json_(json) {}

  const ModelConfig& config() const { return config_; }

  template <class T>
  void within(const char* key, T value, Range range) const {
    const auto number = static_cast<double>(value);
    if (number >= range.least && number <= range.most) return;
    refuse(key, "is {}; allowed: {} to {}", value, range.least, range.most);
  }

  // The width of a matrix that is the product of two sizes.
  void product_within_largest(const char* key, int64_t value, const char* other_key,
                              int64_t other) const;

  // One value, or one value per layer of `side`.
  void per_layer(const char* key, const PerLayer& value, Side side) const;

  template <class... Args>
  [[noreturn]] void refuse(const char* key, fmt::format_string<Args...> why, Args&&... args) const {
    json_.refuse(key, why, std::forward<Args>(args)...);
  }

 private:
  const ModelConfig& config_;
  const JsonObject& json_;
};

}  // namespace convseq
