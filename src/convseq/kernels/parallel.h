#pragma once

#include <cstdint>
#include <functional>

namespace convseq::kernels {

// body(begin, end) for a part of [0, count).
using LoopBody = std::function<void(int64_t, int64_t)>;

// Runs a body over [0, count), cut into parts of at least `grain`, on several threads. Kernels have
// no threads of their own: the caller passes those of its library.
using ParallelFor = void (*)(int64_t count, int64_t grain, const LoopBody& body);

inline void run_serially(int64_t count, int64_t /*grain*/, const LoopBody& body) { body(0, count); }

}  // namespace convseq::kernels
