#include "convseq/kernels/cuda/capture.h"
#include "convseq/kernels/cuda/cluster.cuh"
#include "convseq/kernels/cuda/matmul/few_rows_tile.cuh"

namespace convseq::kernels {
namespace {

using few_rows::BlockTile;
using few_rows::kTileColumns;
using few_rows::kTileRows;
using few_rows::WarpTile;

constexpr int kBlocks = 16;  // of a cluster: each computes some columns of the same sixteen rows
constexpr int kRowLanes = kBlocks;  // per row in the epilogue: each reads the statistics of a block
constexpr int kEpilogueThreads = kTileRows * kRowLanes;
constexpr int64_t kMostRows = 64;

template <int kColumnTiles, int kWarps>
struct NormMemory {
  static constexpr int kColumns = kColumnTiles * kTileColumns;
  BlockTile<1, kColumnTiles, kWarps> tile;
  float2 sums[kTileRows][kColumns / 2];
  float2 statistics[kTileRows];  // mean and Σ (x − mean)² over the columns of the block
};

// out = residual + LayerNorm(a · bᵀ). The sums of the matmul are normalised before they are
// rounded. The statistics of a row are merged from those of the blocks: with n columns each, Σ (x −
// mean)² = Σ_blocks [Σ (x − mean_b)² + n (mean_b − mean)²].
template <int kColumnTiles, int kWarps, int kLoads>
__global__ void __launch_bounds__(kWarps* kLanes, 1) matmul_norm_kernel(MatmulNorm call) {
  using Memory = NormMemory<kColumnTiles, kWarps>;
  using Tile = BlockTile<1, kColumnTiles, kWarps>;
  constexpr int kColumns = Memory::kColumns, kEach = kColumns / kRowLanes;
  extern __shared__ uint4 shared_memory[];
  auto& memory = *reinterpret_cast<Memory*>(shared_memory);
  const Matmul& matmul = call.matmul;
  const int first_row = blockIdx.y * kTileRows, first_column = blockIdx.x * kColumns;
  const int row = threadIdx.x / kRowLanes, lane = threadIdx.x % kRowLanes;
  const bool normalises = threadIdx.x < kEpilogueThreads;  // whole warps
  const bool has_row = normalises && first_row + row < matmul.rows;
  const int64_t start = (first_row + row) * matmul.out_stride + first_column + lane;

  WarpTile<1, kColumnTiles, kWarps, kLoads> tile(matmul, first_row, first_column);
  bf16 weight[kEach], bias[kEach], residual[kEach];
  const auto load_constants = [&] {
    tile.load_first_b();
    if (!normalises) return;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int column = first_column + lane + i * kRowLanes;
      weight[i] = static_cast<const bf16*>(call.weight)[column];
      bias[i] = static_cast<const bf16*>(call.bias)[column];
    }
  };
  if (matmul.constant_b) load_constants();
  grid_dependency_wait();
  if (!matmul.constant_b) load_constants();
  if (has_row) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      residual[i] = static_cast<const bf16*>(call.residual)[start + i * kRowLanes];
    }
  }

  float of_warp[1][kColumnTiles][4] = {};
  tile.multiply(of_warp);
  memory.tile.store(of_warp);
  __syncthreads();
  for (int pair = threadIdx.x; pair < Tile::kPairs; pair += kWarps * kLanes) {
    memory.sums[Tile::row(pair)][Tile::column(pair) / 2] = memory.tile.sum(pair);
  }
  __syncthreads();

  float values[kEach];
  if (normalises) {
    const float* sums = reinterpret_cast<const float*>(memory.sums[row]);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      values[i] = sums[lane + i * kRowLanes];
      sum += values[i];
    }
    const float mean = warp_sum<kRowLanes>(sum) / kColumns;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) squares += (values[i] - mean) * (values[i] - mean);
    squares = warp_sum<kRowLanes>(squares);
    if (lane == 0) memory.statistics[row] = {mean, squares};
  }
  cluster_sync();
  if (normalises) {
    const float2 of_block = in_cluster_block(memory.statistics, lane)[row];
    const float mean = warp_sum<kRowLanes>(of_block.x) / kBlocks;
    const float offset = of_block.x - mean;
    const float squares = warp_sum<kRowLanes>(of_block.y + kColumns * offset * offset);
    const float scale = rsqrtf(squares / (kBlocks * kColumns) + call.eps);
    if (has_row) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const float y = (values[i] - mean) * scale * to_float(weight[i]) + to_float(bias[i]) +
                        to_float(residual[i]);
        static_cast<bf16*>(matmul.out)[start + i * kRowLanes] = from_float<bf16>(y);
      }
    }
  }
  cluster_sync();  // a block's shared memory lives until all blocks have read it
}

// A cluster of sixteen blocks is more than every GPU with clusters must have.
template <int kColumnTiles, int kWarps, int kLoads>
class NormLaunch {
 public:
  NormLaunch(const Matmul& matmul, cudaStream_t stream) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim = {kBlocks, 1, 1};
    attributes_[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[1].val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim =
        dim3(kBlocks, static_cast<unsigned>(ceil_div<int64_t>(matmul.rows, kTileRows)));
    config_.blockDim = dim3(kWarps * kLanes);
    config_.dynamicSmemBytes = kBytes;
    config_.stream = stream;
    config_.attrs = attributes_;
    config_.numAttrs = 2;
    allow_shared_memory(kKernel, kBytes);
    check_cuda(cudaFuncSetAttribute(kKernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
               "cluster");
  }
  NormLaunch(const NormLaunch&) = delete;
  NormLaunch& operator=(const NormLaunch&) = delete;

  bool fits() const {
    int clusters = 0;
    return cudaOccupancyMaxActiveClusters(&clusters, kKernel, &config_) == cudaSuccess &&
           clusters >= 1;
  }
  void run(const MatmulNorm& call) const {
    check_cuda(cudaLaunchKernelEx(&config_, kKernel, call), "matmul_norm");
  }

 private:
  static constexpr auto kKernel = matmul_norm_kernel<kColumnTiles, kWarps, kLoads>;
  static constexpr size_t kBytes = sizeof(NormMemory<kColumnTiles, kWarps>);
  cudaLaunchAttribute attributes_[2] = {};
  cudaLaunchConfig_t config_ = {};
};

// Calls use(launch) with the launch for a matmul of this size, if there is one.
template <class Use>
bool with_launch(const Matmul& matmul, cudaStream_t stream, Use use) {
  // A block reads its columns of b at the bandwidth of one multiprocessor: with a long inner
  // dimension a matmul on all of them and a norm are faster, for few rows with 512 columns too.
  constexpr int64_t kLongInner = 1024;
  const bool is_long = matmul.inner > kLongInner;
  if (matmul.columns == 768 && !is_long) return use(NormLaunch<6, 8, 3>(matmul, stream));
  if (matmul.columns == 512 && !is_long) return use(NormLaunch<4, 8, 2>(matmul, stream));
  if (matmul.columns == 512 && matmul.inner <= 2 * kLongInner && matmul.rows > kTileRows) {
    return use(NormLaunch<4, 16, 2>(matmul, stream));
  }
  return false;
}

}  // namespace

bool has_matmul_norm(const Matmul& matmul) {
  const bool is_tile = matmul.rows >= 1 && matmul.rows <= kMostRows && matmul.inner >= 8 &&
                       matmul.inner <= INT32_MAX / 2 && matmul.inner % 8 == 0 &&
                       !matmul.a.transposed && matmul.b.transposed && is_aligned(matmul.a.values) &&
                       is_aligned(matmul.b.values) && matmul.a.stride % 8 == 0 &&
                       matmul.b.stride % 8 == 0;
  return is_tile && has_clusters() &&
         with_launch(matmul, nullptr, [](const auto& launch) { return launch.fits(); });
}

void matmul_norm_cuda(const MatmulNorm& call, Stream on) {
  const auto stream = static_cast<cudaStream_t>(on);
  MatmulNorm captured = call;
  captured.matmul.constant_b = call.matmul.constant_b && is_capturing(stream);
  with_launch(call.matmul, stream, [&](const auto& launch) {
    launch.run(captured);
    return true;
  });
}

}  // namespace convseq::kernels
