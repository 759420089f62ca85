#include "convseq/data/objective/span_corruption.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/error.h"

namespace convseq {
namespace {

// round() of Python and TensorFlow: halves are rounded to even (the default rounding mode).
int64_t round_half_even(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

// Cuts `items` into `parts` parts of one item or more, all ways equally likely, and returns where
// each part ends. Floyd's sampling draws `parts - 1` of the `items - 1` places between two items.
std::vector<int64_t> random_cuts(int64_t items, int64_t parts, Random& random) {
  const int64_t places = items - 1;
  std::vector<char> cut(static_cast<size_t>(places));
  for (int64_t last = places - (parts - 1); last < places; ++last) {
    const auto drawn = static_cast<size_t>(random.below(static_cast<uint64_t>(last) + 1));
    cut[cut[drawn] ? static_cast<size_t>(last) : drawn] = 1;
  }
  std::vector<int64_t> ends;
  ends.reserve(static_cast<size_t>(parts));
  for (int64_t place = 0; place < places; ++place) {
    if (cut[static_cast<size_t>(place)]) ends.push_back(place + 1);
  }
  ends.push_back(items);
  return ends;
}

}  // namespace

SpanCorruption::SpanCorruption(Vocabulary vocabulary, Options options)
    : vocabulary_(vocabulary), options_(options) {
  require(options.noise_density > 0 && options.noise_density < 1,
          "span corruption: noise density {} does not lie between 0 and 1", options.noise_density);
  require(options.mean_span_length >= 1, "span corruption: a mean span length of {} is under 1",
          options.mean_span_length);
}

int64_t SpanCorruption::wanted_spans(int64_t noise) const {
  return round_half_even(static_cast<double>(noise) / options_.mean_span_length);
}

SpanCorruption::Counts SpanCorruption::counts(int64_t segment_length) const {
  if (segment_length < 2) return {};
  const double share = static_cast<double>(segment_length) * options_.noise_density;
  const int64_t noise = std::clamp<int64_t>(round_half_even(share), 1, segment_length - 1);
  const int64_t text = segment_length - noise;
  const int64_t most = std::min<int64_t>(text, Vocabulary::kSentinels);
  return {.noise = noise, .spans = std::clamp<int64_t>(wanted_spans(noise), 1, most)};
}

ExampleLengths SpanCorruption::lengths(int64_t segment_length) const {
  const auto [noise, spans] = counts(segment_length);
  return {.source = segment_length - noise + spans + 1, .target = noise + spans + 1};
}

std::string SpanCorruption::describe(int64_t segment_length) const {
  const auto [noise, spans] = counts(segment_length);
  const auto [source, target] = lengths(segment_length);
  std::string line =
      fmt::format("span corruption: {} of {} tokens in {} spans, source {}, target {}", noise,
                  segment_length, spans, source, target);
  if (const int64_t wanted = wanted_spans(noise); wanted > spans) {
    line += fmt::format("; {} spans wanted, lengthened from {} to {:.2f} tokens to fit {}", wanted,
                        options_.mean_span_length,
                        static_cast<double>(noise) / static_cast<double>(spans), spans);
  }
  return line;
}

std::string SpanCorruption::fingerprint() const {
  return fmt::format("span corruption {} {} {}", options_.noise_density, options_.mean_span_length,
                     vocabulary_.pieces());
}

void SpanCorruption::make(std::span<const int32_t> segment, Random& random,
                          Example& example) const {
  const auto length = static_cast<int64_t>(segment.size());
  const auto [noise, spans] = counts(length);
  example.source.clear();
  example.target.clear();
  const auto append = [&](std::vector<int32_t>& out, int64_t begin, int64_t end) {
    out.insert(out.end(), segment.begin() + begin, segment.begin() + end);
  };
  if (spans == 0) {
    append(example.source, 0, length);
  } else {
    const std::vector<int64_t> noise_ends = random_cuts(noise, spans, random);
    const std::vector<int64_t> text_ends = random_cuts(length - noise, spans, random);
    int64_t text_begin = 0;
    for (size_t span = 0; span < noise_ends.size(); ++span) {
      const int64_t noise_begin = text_ends[span] + (span == 0 ? 0 : noise_ends[span - 1]);
      const int64_t noise_end = text_ends[span] + noise_ends[span];
      const int32_t sentinel = vocabulary_.sentinel(static_cast<int32_t>(span));
      append(example.source, text_begin, noise_begin);
      example.source.push_back(sentinel);
      example.target.push_back(sentinel);
      append(example.target, noise_begin, noise_end);
      text_begin = noise_end;
    }
  }
  example.source.push_back(Vocabulary::kEos);
  example.target.push_back(Vocabulary::kEos);
}

}  // namespace convseq
