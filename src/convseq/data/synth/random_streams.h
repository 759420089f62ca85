#pragma once

#include <cstdint>

namespace convseq::synth {

// The first word of every random stream's key: with one seed, no two uses draw the same numbers.
inline constexpr uint64_t kCorpusStream = 0;
inline constexpr uint64_t kTaskStream = 1;
inline constexpr uint64_t kTaskOrderStream = 2;
inline constexpr uint64_t kPolarSplitStream = 3;

}  // namespace convseq::synth
