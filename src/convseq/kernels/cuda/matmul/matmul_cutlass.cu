#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <algorithm>
#include <climits>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/matmul/matmul_cutlass.h"

// Matmuls with a ReLU-backward or an add epilogue, from CUTLASS collectives for Hopper with the
// pingpong schedule: one consumer warpgroup runs its mainloop while the other runs its epilogue.
namespace convseq::kernels {
namespace {

using cute::Shape, cute::_1, cute::_2, cute::_32, cute::_64, cute::_128, cute::_192;
using Element = cutlass::bfloat16_t;
using Rows = cutlass::layout::RowMajor;

template <class T>
struct ReluGradient {
  CUTLASS_HOST_DEVICE T operator()(const T& value, const T& output) const {
    return output > T(0) ? value : T(0);
  }
};

template <class T, int N>
struct ReluGradient<cutlass::Array<T, N>> {
  CUTLASS_HOST_DEVICE cutlass::Array<T, N> operator()(const cutlass::Array<T, N>& values,
                                                      const cutlass::Array<T, N>& outputs) const {
    cutlass::Array<T, N> result;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) result[i] = ReluGradient<T>()(values[i], outputs[i]);
    return result;
  }
};

namespace fusion = cutlass::epilogue::fusion;
constexpr int kAligned = 8;  // bf16 values in 16 bytes
using Tile = Shape<_128, _192, _64>;
using Cluster = Shape<_2, _1, _1>;
using Architecture = cutlass::arch::Sm90;
using TensorOp = cutlass::arch::OpClassTensorOp;

// Operation(a·b, c), rounded once, in epilogue tiles of the given shape.
template <template <class> class Operation, class EpilogueTile>
struct Fused {
  using Tree = fusion::Sm90EVT<
      fusion::Sm90Compute<Operation, Element, float, cutlass::FloatRoundStyle::round_to_nearest>,
      fusion::Sm90AccFetch, fusion::Sm90SrcFetch<Element>>;
  using EpilogueOp = typename cutlass::epilogue::collective::CollectiveBuilder<
      Architecture, TensorOp, Tile, Cluster, EpilogueTile, float, float, Element, Rows, kAligned,
      Element, Rows, kAligned, cutlass::epilogue::TmaWarpSpecialized, Tree>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      Architecture, TensorOp, Element, Rows, kAligned, Element, Rows, kAligned, float, Tile,
      Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename EpilogueOp::SharedStorage))>,
      cutlass::gemm::KernelTmaWarpSpecializedPingpong>::CollectiveOp;
  using Kernel =
      cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, EpilogueOp>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
};

void check(cutlass::Status status) {
  if (status != cutlass::Status::kSuccess) {
    fail_cuda("matmul", cutlassGetStatusString(status));
  }
}

template <class Gemm>
typename Gemm::Arguments arguments_of(const Matmul& p) {
  const auto size = [](int64_t n) { return static_cast<int>(n); };
  typename Gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {size(p.rows), size(p.columns), size(p.inner), 1},
                                     {static_cast<const Element*>(p.a.values),
                                      {p.a.stride, _1{}, 0},
                                      static_cast<const Element*>(p.b.values),
                                      {_1{}, p.b.stride, 0}},
                                     {{{}, {}, {}},
                                      static_cast<const Element*>(p.c),
                                      {p.out_stride, _1{}, 0},
                                      static_cast<Element*>(p.out),
                                      {p.out_stride, _1{}, 0}}};
  // Tiles along N run one after another: their rows of `a` are in the L2 cache, and `b` is small.
  using Order = decltype(arguments.scheduler.raster_order);
  arguments.scheduler.raster_order = Order::AlongN;
  return arguments;
}

template <class Gemm>
void launch(const Matmul& p, cudaStream_t stream) {
  typename Gemm::Arguments arguments = arguments_of<Gemm>(p);
  arguments.hw_info.sm_count = device_attribute(cudaDevAttrMultiProcessorCount);
  Gemm gemm;
  check(gemm.initialize(arguments, /*workspace=*/nullptr, stream));
  // Programmatic dependent launch, as in launch_dependent(): the kernel waits before its loads.
  check(gemm.run(stream, /*cuda_adapter=*/nullptr, /*launch_with_pdl=*/true));
}

using ReluBackwardGemm = Fused<ReluGradient, Shape<_64, _64>>::Gemm;
using AddGemm = Fused<cutlass::plus, Shape<_64, _32>>::Gemm;

// CUTLASS's own checks of the sizes.
bool can_implement_sizes(const Matmul& p) {
  const auto status = p.epilogue == Epilogue::ReluBackward
                          ? ReluBackwardGemm::can_implement(arguments_of<ReluBackwardGemm>(p))
                          : AddGemm::can_implement(arguments_of<AddGemm>(p));
  return status == cutlass::Status::kSuccess;
}

}  // namespace

bool has_cutlass_matmul(const Matmul& p) {
  const auto fits = [](const Matrix& matrix) {
    return is_aligned(matrix.values) && matrix.stride % kAligned == 0 && !matrix.transposed;
  };
  // Only GPUs of compute capability 9.x have these instructions.
  return device_attribute(cudaDevAttrComputeCapabilityMajor) == 9 && p.epilogue != Epilogue::Relu &&
         p.c != nullptr && std::max({p.rows, p.columns, p.inner}) <= INT_MAX && fits(p.a) &&
         fits(p.b) && fits({p.out, p.out_stride}) && is_aligned(p.c) && can_implement_sizes(p);
}

void cutlass_matmul(const Matmul& p, Stream on) {
  const auto stream = static_cast<cudaStream_t>(on);
  p.epilogue == Epilogue::ReluBackward ? launch<ReluBackwardGemm>(p, stream)
                                       : launch<AddGemm>(p, stream);
}

}  // namespace convseq::kernels
