#include "convseq/spec/config_check.h"

namespace convseq {

void ConfigCheck::product_within_largest(const char* key, int64_t value, const char* other_key,
                                         int64_t other) const {
  if (value * other <= kLargestSize) return;  // both were checked: no overflow
  refuse(key, "{} times {} {} is {}; allowed: up to {}", value, other_key, other, value * other,
         kLargestSize);
}

void ConfigCheck::per_layer(const char* key, const PerLayer& value, Side side) const {
  const auto entries = static_cast<int64_t>(value.values.size());
  const int64_t layers = config_.layers(side);
  if (entries != 1 && entries != layers && layers > 0) {
    refuse(key, "has {} entries for {} {}layers", entries, layers,
           side == Side::Decoder ? "decoder " : "");
  }
  for (const int64_t each : value.values) within(key, each, {1, 1 << 16});
}

}  // namespace convseq
