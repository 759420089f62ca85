#pragma once

#include "convseq/data/objective/objective.h"
#include "convseq/text/sentinels.h"

namespace convseq {

struct SpanCorruptionOptions {
  double noise_density = 0.15;
  double mean_span_length = 3.0;
};

// T5's span denoising. Of L tokens round(density · L) are noise, in round(noise / mean span) spans;
// text and noise alternate, text first, and how long each piece is, is drawn uniformly from all the
// ways to cut. The source has a sentinel in place of each span, the target each sentinel and its
// span:
//
//   segment  a b c d e f g h      source  a b <0> e f g <1> EOS     target  <0> c d <1> h EOS
//
// round() takes halves to the even neighbour, as Python's. A segment has at least one noise token
// and one token of text (a segment of one token is all text), and at most 100 spans: where the
// formula asks for more, the spans are longer, and describe() says so.
class SpanCorruption : public Objective {
 public:
  SpanCorruption(Vocabulary vocabulary, SpanCorruptionOptions options = {});

  struct Counts {
    int64_t noise = 0;
    int64_t spans = 0;
  };
  Counts counts(int64_t segment_length) const;

  ExampleLengths lengths(int64_t segment_length) const override;
  std::string describe(int64_t segment_length) const override;
  std::string identity() const override;
  void make(std::span<const int32_t> segment, Random& random, Example& example) const override;

 private:
  int64_t wanted_spans(int64_t noise) const;

  Vocabulary vocabulary_;
  SpanCorruptionOptions options_;
};

}  // namespace convseq
