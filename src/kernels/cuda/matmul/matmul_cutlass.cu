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

// Gated matmuls and sums, put together from CUTLASS's parts for Hopper: two groups of warps take
// tiles by turns, so that one multiplies while the other reads `other` and writes.
namespace convseq::kernels {
namespace {

using cute::Shape, cute::_1, cute::_2, cute::_32, cute::_64, cute::_128, cute::_192;
using Element = cutlass::bfloat16_t;
using Rows = cutlass::layout::RowMajor;

template <class T>
struct WherePositive {
  CUTLASS_HOST_DEVICE T operator()(const T& value, const T& gate) const {
    return gate > T(0) ? value : T(0);
  }
};

template <class T, int N>
struct WherePositive<cutlass::Array<T, N>> {
  CUTLASS_HOST_DEVICE cutlass::Array<T, N> operator()(const cutlass::Array<T, N>& values,
                                                      const cutlass::Array<T, N>& gates) const {
    cutlass::Array<T, N> result;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) result[i] = WherePositive<T>()(values[i], gates[i]);
    return result;
  }
};

namespace fusion = cutlass::epilogue::fusion;
constexpr int kAligned = 8;  // bf16 values in 16 bytes
using Tile = Shape<_128, _192, _64>;
using Cluster = Shape<_2, _1, _1>;
using Architecture = cutlass::arch::Sm90;
using Tensorial = cutlass::arch::OpClassTensorOp;

// Operation(a·b, other), rounded once, a piece of the tile at a time.
template <template <class> class Operation, class Piece>
struct Fused {
  using Tree = fusion::Sm90EVT<
      fusion::Sm90Compute<Operation, Element, float, cutlass::FloatRoundStyle::round_to_nearest>,
      fusion::Sm90AccFetch, fusion::Sm90SrcFetch<Element>>;
  using End = typename cutlass::epilogue::collective::CollectiveBuilder<
      Architecture, Tensorial, Tile, Cluster, Piece, float, float, Element, Rows, kAligned, Element,
      Rows, kAligned, cutlass::epilogue::TmaWarpSpecialized, Tree>::CollectiveOp;
  using Multiply = typename cutlass::gemm::collective::CollectiveBuilder<
      Architecture, Tensorial, Element, Rows, kAligned, Element, Rows, kAligned, float, Tile,
      Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename End::SharedStorage))>,
      cutlass::gemm::KernelTmaWarpSpecializedPingpong>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Multiply, End>;
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
                                      static_cast<const Element*>(p.other),
                                      {p.out_stride, _1{}, 0},
                                      static_cast<Element*>(p.out),
                                      {p.out_stride, _1{}, 0}}};
  // Tiles of a row one after another: its rows of `a` are still in the cache, and `b` is small.
  using Order = decltype(arguments.scheduler.raster_order);
  arguments.scheduler.raster_order = Order::AlongN;
  return arguments;
}

template <class Gemm>
void launch(const Matmul& p, cudaStream_t stream) {
  typename Gemm::Arguments arguments = arguments_of<Gemm>(p);
  arguments.hw_info.sm_count = device_number(cudaDevAttrMultiProcessorCount);
  Gemm gemm;
  check(gemm.initialize(arguments, /*workspace=*/nullptr, stream));
  // As launch_dependent() does it; the kernel waits where it loads.
  check(gemm.run(stream, /*cuda_adapter=*/nullptr, /*launch_with_pdl=*/true));
}

using Gated = Fused<WherePositive, Shape<_64, _64>>::Gemm;
using Added = Fused<cutlass::plus, Shape<_64, _32>>::Gemm;

// What CUTLASS itself looks at: the sizes.
bool can_be_done(const Matmul& p) {
  const auto status = p.epilogue == Epilogue::Gated ? Gated::can_implement(arguments_of<Gated>(p))
                                                    : Added::can_implement(arguments_of<Added>(p));
  return status == cutlass::Status::kSuccess;
}

}  // namespace

bool cutlass_takes(const Matmul& p) {
  const auto fits = [](const Matrix& matrix) {
    return is_aligned(matrix.values) && matrix.stride % kAligned == 0 && !matrix.transposed;
  };
  // The instructions of 9.0 are neither in earlier nor in later GPUs.
  return device_number(cudaDevAttrComputeCapabilityMajor) == 9 && p.epilogue != Epilogue::Relu &&
         p.other != nullptr && std::max({p.rows, p.columns, p.inner}) <= INT_MAX && fits(p.a) &&
         fits(p.b) && fits({p.out, p.out_stride}) && is_aligned(p.other) && can_be_done(p);
}

void cutlass_matmul(const Matmul& p, Stream on) {
  const auto stream = static_cast<cudaStream_t>(on);
  p.epilogue == Epilogue::Gated ? launch<Gated>(p, stream) : launch<Added>(p, stream);
}

}  // namespace convseq::kernels
