#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

#include "convseq/kernels/parallel.h"

namespace convseq::ops {

// Runs a loop on libtorch's threads, as many as at::set_num_threads() set. at::parallel_for is a
// template that is serial in a program compiled without OpenMP; the loops inside libtorch are not.
inline void on_torch_threads(int64_t count, int64_t grain, const kernels::LoopBody& body) {
  if (count <= grain || at::get_num_threads() == 1 || at::in_parallel_region()) {
    return body(0, count);
  }
  at::Tensor numbers = at::arange(count, at::kLong);
  at::TensorIterator::nullary_op(numbers).for_each(
      [&](char** data, const int64_t* /*strides*/, int64_t size) {
        const int64_t begin = *reinterpret_cast<const int64_t*>(data[0]);
        body(begin, begin + size);
      },
      grain);
}

}  // namespace convseq::ops
