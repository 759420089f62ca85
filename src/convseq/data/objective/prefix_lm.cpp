#include "convseq/data/objective/prefix_lm.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/error.h"

namespace convseq {

PrefixLm::PrefixLm(Vocabulary, Options options) : options_(options) {
  require(options.min_prefix >= 0 && options.min_prefix < 1,
          "prefix LM: a minimum prefix share of {} is not in [0, 1)", options.min_prefix);
}

PrefixLm::Range PrefixLm::prefix_lengths(int64_t segment_length) const {
  if (segment_length < 2) return {.shortest = segment_length, .longest = segment_length};
  const double least = std::ceil(options_.min_prefix * static_cast<double>(segment_length));
  return {.shortest = std::clamp<int64_t>(static_cast<int64_t>(least), 1, segment_length - 1),
          .longest = segment_length - 1};
}

ExampleLengths PrefixLm::lengths(int64_t segment_length) const {
  const auto [shortest, longest] = prefix_lengths(segment_length);
  return {.source = longest + 1, .target = segment_length - shortest + 1};
}

double PrefixLm::mean_source_length(int64_t segment_length) const {
  const auto [shortest, longest] = prefix_lengths(segment_length);
  return static_cast<double>(shortest + longest) / 2 + 1;
}

std::string PrefixLm::describe(int64_t segment_length) const {
  const auto [shortest, longest] = prefix_lengths(segment_length);
  return fmt::format("prefix LM: segments of {} tokens, source {} to {}, target {} to {}",
                     segment_length, shortest + 1, longest + 1, segment_length - longest + 1,
                     segment_length - shortest + 1);
}

std::string PrefixLm::fingerprint() const {
  return fmt::format("prefix LM {}", options_.min_prefix);
}

void PrefixLm::make(std::span<const int32_t> segment, Random& random, Example& example) const {
  const auto [shortest, longest] = prefix_lengths(std::ssize(segment));
  const auto choices = static_cast<uint64_t>(longest - shortest + 1);
  const int64_t cut = shortest + static_cast<int64_t>(random.below(choices));
  example.source.assign(segment.begin(), segment.begin() + cut);
  example.target.assign(segment.begin() + cut, segment.end());
  example.source.push_back(Vocabulary::kEos);
  example.target.push_back(Vocabulary::kEos);
}

}  // namespace convseq
