#pragma once

#include <cstdint>
#include <functional>

namespace convseq::kernels {

// body(begin, end) for a part of [0, count).
using LoopBody = std::function<void(int64_t, int64_t)>;

// Runs a body over [0, count), cut into parts of at least `grain`, on whatever threads it has. The
// kernels know no threads: who calls them brings those of its own library.
using ParallelFor = void (*)(int64_t count, int64_t grain, const LoopBody& body);

inline void in_turn(int64_t count, int64_t /*grain*/, const LoopBody& body) { body(0, count); }

}  // namespace convseq::kernels
