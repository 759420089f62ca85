#pragma once

#include "convseq/data/objective/objective.h"
#include "convseq/text/sentinels.h"

namespace convseq {

struct PrefixLmOptions {
  double min_prefix = 0.5;
};
template <>
inline constexpr auto kObjectiveFields<PrefixLmOptions> =
    std::to_array<ObjectiveField<PrefixLmOptions>>({
        {{"min_prefix", "minimum prefix share", "Shortest prefix: fraction of the segment", 0,
          0.99},
         &PrefixLmOptions::min_prefix},
    });

// Prefix language modelling, as in T5's comparison of objectives: a segment is cut at a random
// place, and the model continues the text before the cut.
//
//   segment  a b c d e f g h      source  a b c d e EOS      target  f g h EOS
//
// Of L tokens the prefix has ceil(min_prefix · L) to L - 1, at least one, each length equally
// likely. A segment of one token is all prefix. Sentinels are not used.
class PrefixLm : public Objective {
 public:
  using Options = PrefixLmOptions;
  explicit PrefixLm(Vocabulary vocabulary, Options options = {});

  ObjectiveKind kind() const override { return ObjectiveKind::PrefixLm; }
  std::vector<ObjectiveNumber> numbers() const override { return numbers_of(options_); }
  bool uses_sentinels() const override { return false; }
  ExampleLengths lengths(int64_t segment_length) const override;
  double mean_source_length(int64_t segment_length) const override;
  std::string describe(int64_t segment_length) const override;
  std::string fingerprint() const override;
  void make(std::span<const int32_t> segment, Random& random, Example& example) const override;

 private:
  struct Range {
    int64_t shortest = 0;
    int64_t longest = 0;
  };
  Range prefix_lengths(int64_t segment_length) const;

  Options options_;
};

}  // namespace convseq
