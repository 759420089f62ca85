#pragma once

#include <vector>

#include "convseq/data/example.h"

namespace convseq::bench {

inline constexpr ExampleLengths kLongestSst2Example{.source = 81, .target = 2};

// Random tokens with the lengths of SST-2's training examples: `count` evenly spaced quantiles of
// their distribution, so that few examples have it too. Both sides end in EOS.
std::vector<Example> sst2_examples(int64_t count, int64_t vocab_size);

}  // namespace convseq::bench
