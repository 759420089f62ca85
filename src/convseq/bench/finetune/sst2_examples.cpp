#include "convseq/bench/finetune/sst2_examples.h"

#include <array>
#include <numeric>

#include "convseq/base/random.h"
#include "convseq/text/sentinels.h"

namespace convseq::bench {
namespace {

constexpr uint64_t kExampleSeed = 1;
constexpr int64_t kFirstPiece = 2;  // after padding and EOS

// The number of SST-2's 67,349 training examples with kShortest, kShortest + 1, … source tokens:
// "sst2 sentence: …" and its EOS, in 32,000 pieces trained on web text.
constexpr size_t kShortest = 8;
constexpr std::array<int64_t, 74> kSources = {
    1703, 4774, 5403, 4947, 4425, 3972, 3517, 3188, 2969, 2615, 2400, 2146, 2042, 1780, 1685,
    1511, 1421, 1333, 1176, 1186, 1062, 981,  872,  863,  793,  757,  684,  637,  581,  526,
    508,  449,  434,  405,  367,  322,  311,  293,  236,  235,  246,  180,  163,  153,  143,
    124,  100,  92,   85,   77,   71,   55,   50,   41,   40,   35,   37,   26,   22,   22,
    12,   9,    12,   9,    7,    10,   6,    1,    4,    2,    2,    3,    0,    1};
static_assert(kShortest + kSources.size() - 1 == kLongestSst2Example.source);
constexpr size_t kTarget = kLongestSst2Example.target;  // either label is one piece, and its EOS

// The length at `rank` of the histogram's examples in order of length.
size_t length_at(int64_t rank) {
  size_t i = 0;
  for (int64_t below = kSources[0]; rank >= below; below += kSources[i]) ++i;
  return kShortest + i;
}

}  // namespace

std::vector<Example> sst2_examples(int64_t count, int64_t vocab_size) {
  Random random(kExampleSeed);
  const auto words = static_cast<uint64_t>(vocab_size - kFirstPiece);
  const auto sentence = [&](size_t length) {
    std::vector<int32_t> ids(length, Vocabulary::kEos);
    for (size_t i = 0; i + 1 < length; ++i) {
      ids[i] = static_cast<int32_t>(kFirstPiece + static_cast<int64_t>(random.below(words)));
    }
    return ids;
  };
  const int64_t all = std::accumulate(kSources.begin(), kSources.end(), int64_t{0});
  std::vector<Example> examples;
  for (int64_t i = 0; i < count; ++i) {
    const auto rank = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    const size_t source = length_at(static_cast<int64_t>(rank * static_cast<double>(all)));
    examples.push_back({.source = sentence(source), .target = sentence(kTarget)});
  }
  return examples;
}

}  // namespace convseq::bench
