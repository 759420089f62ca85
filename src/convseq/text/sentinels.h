#pragma once

#include <cstdint>
#include <string>

#include "convseq/base/error.h"

namespace convseq {

// How ids are laid out, T5's way: the tokenizer's pieces first (padding 0, end of sequence 1,
// unknown 2), then 100 sentinels, numbered downwards, then unused ids up to a multiple of 128. The
// one place that knows.
//
//   32,000 pieces: sentinel 0 is 32,099, sentinel 99 is 32,000, size() is 32,128
class Vocabulary {
 public:
  static constexpr int32_t kPad = 0;
  static constexpr int32_t kEos = 1;
  static constexpr int32_t kUnknown = 2;
  static constexpr int32_t kSentinels = 100;
  static constexpr int32_t kMultiple = 128;

  explicit Vocabulary(int32_t pieces) : pieces_(pieces) {
    require(pieces > kUnknown, "a vocabulary of {} pieces; {} or more are needed", pieces,
            kUnknown + 1);
  }

  int32_t pieces() const { return pieces_; }
  int32_t size() const {  // rows of a model's embedding
    return (pieces_ + kSentinels + kMultiple - 1) / kMultiple * kMultiple;
  }

  int32_t sentinel(int32_t index) const { return pieces_ + kSentinels - 1 - index; }
  int32_t sentinel_index(int32_t id) const { return pieces_ + kSentinels - 1 - id; }
  bool is_piece(int32_t id) const { return id >= 0 && id < pieces_; }
  bool is_sentinel(int32_t id) const { return id >= pieces_ && id < pieces_ + kSentinels; }
  static std::string sentinel_name(int32_t index) { return fmt::format("<extra_id_{}>", index); }

  bool operator==(const Vocabulary&) const = default;

 private:
  int32_t pieces_;
};

}  // namespace convseq
