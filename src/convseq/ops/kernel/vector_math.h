#pragma once

namespace convseq::ops {

// MKL selects the code of a vector function at its first call. Where two threads make that call at
// once, one may get a less accurate version for this call (pytorch/pytorch#188792, oneMKL 2024.2),
// and a run would not be repeatable. This makes the first call of all functions that we use on one
// thread. Every model calls it in its constructor.
void settle_vector_math();

}  // namespace convseq::ops
