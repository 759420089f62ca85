#pragma once

#include "convseq/data/objective/objective.h"
#include "convseq/text/sentinels.h"

namespace convseq {

struct SpanCorruptionOptions {
  double noise_density = 0.15;
  double mean_span_length = 3.0;
};
template <>
inline constexpr auto kObjectiveFields<SpanCorruptionOptions> =
    std::to_array<ObjectiveField<SpanCorruptionOptions>>({
        {{"noise", "noise density", "Noise density: fraction of the tokens that is masked", 0.001,
          0.999},
         &SpanCorruptionOptions::noise_density},
        {{"span", "mean span length", "Mean noise-span length in tokens", 1, 1000},
         &SpanCorruptionOptions::mean_span_length},
    });

// T5's span denoising. Of L tokens round(density · L) are noise, in round(noise / mean span) spans.
// Text and noise alternate, text first, and the lengths of the pieces are drawn uniformly from all
// ways to cut. The source has a sentinel in place of each span, and the target has each sentinel
// followed by its span:
//
//   segment  a b c d e f g h      source  a b <0> e f g <1> EOS     target  <0> c d <1> h EOS
//
// round() rounds halves to even, as Python's does. A segment has at least one noise token and one
// token of text (a segment of one token is all text), and at most 100 spans: where the formula asks
// for more, the spans are longer, and describe() says so.
class SpanCorruption : public Objective {
 public:
  using Options = SpanCorruptionOptions;
  SpanCorruption(Vocabulary vocabulary, Options options = {});

  struct Counts {
    int64_t noise = 0;
    int64_t spans = 0;
  };
  Counts counts(int64_t segment_length) const;

  ObjectiveKind kind() const override { return ObjectiveKind::SpanCorruption; }
  std::vector<ObjectiveNumber> numbers() const override { return numbers_of(options_); }
  bool uses_sentinels() const override { return true; }
  ExampleLengths lengths(int64_t segment_length) const override;
  std::string describe(int64_t segment_length) const override;
  std::string fingerprint() const override;
  void make(std::span<const int32_t> segment, Random& random, Example& example) const override;

 private:
  int64_t wanted_spans(int64_t noise) const;

  Vocabulary vocabulary_;
  Options options_;
};

}  // namespace convseq
