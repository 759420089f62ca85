#pragma once

namespace convseq::ops {

// MKL chooses the instructions of a vector function at its first call; where two threads make that
// call at once, one may get a version of low accuracy, for this call alone
// (pytorch/pytorch#188792, oneMKL 2024.2): a run would not repeat itself. This makes the first call
// of those that we use, on one thread. Every model does so when it is made.
void settle_vector_math();

}  // namespace convseq::ops
