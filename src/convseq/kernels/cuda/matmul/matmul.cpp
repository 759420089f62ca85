#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <map>
#include <mutex>
#include <vector>

#include "convseq/base/error.h"
#include "convseq/kernels/cuda/capture.h"
#include "convseq/kernels/cuda/matmul/matmul_cutlass.h"
#include "convseq/kernels/cuda/matmul/matmul_few_rows.h"

namespace convseq::kernels {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // as cuBLAS itself uses on Hopper
constexpr int kProposals = 8;
constexpr int kRounds = 5;

void check(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("matmul: {}", cublasLtGetStatusString(status));
}

void check(cudaError_t status) {
  if (status != cudaSuccess) fail("matmul: {}", cudaGetErrorString(status));
}

// A cuBLASLt object that is destroyed with its owner.
template <class T, cublasStatus_t (*kDestroy)(T)>
class Owned {
 public:
  Owned() = default;
  ~Owned() {
    if (value_ != nullptr) kDestroy(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  T* address() { return &value_; }
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
};

using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class T>
void set(const Description& description, cublasLtMatmulDescAttributes_t what, const T& value) {
  check(cublasLtMatmulDescSetAttribute(description, what, &value, sizeof(value)));
}

template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t what, const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, what, &value, sizeof(value)));
}

uint32_t alignment_of(const void* pointer) {
  uint32_t alignment = 256;
  while (reinterpret_cast<uintptr_t>(pointer) % alignment != 0) alignment /= 2;
  return alignment;
}

cublasLtEpilogue_t epilogue_of(Epilogue epilogue) {
  return epilogue == Epilogue::Relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

cublasOperation_t operation_of(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

// cuBLAS is column-major, so a row-major matrix is the transpose to it: it computes outᵀ = bᵀ aᵀ,
// with b as its first operand.
class Call {
 public:
  explicit Call(const Matmul& matmul) : matmul_(matmul) {
    check(cublasLtMatmulDescCreate(description_.address(), CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(description_, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(matmul.b.transposed));
    set(description_, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(matmul.a.transposed));
    set(description_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(matmul.epilogue));
    describe(first_, matmul.columns, matmul.inner, matmul.b);
    describe(second_, matmul.inner, matmul.rows, matmul.a);
    describe(out_, matmul.columns, matmul.rows, {.stride = matmul.out_stride});
  }

  std::vector<cublasLtMatmulHeuristicResult_t> proposals(cublasLtHandle_t handle) const {
    Preference preference;
    check(cublasLtMatmulPreferenceCreate(preference.address()));
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, matmul_.workspace_bytes);
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(matmul_.b.values));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(matmul_.a.values));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(source()));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(matmul_.out));
    std::vector<cublasLtMatmulHeuristicResult_t> found(kProposals);
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, description_, first_, second_, out_, out_,
                                         preference, kProposals, found.data(), &count));
    found.resize(count);
    std::erase_if(found, [](const auto& each) { return each.state != CUBLAS_STATUS_SUCCESS; });
    require(!found.empty(), "matmul: cuBLASLt has no algorithm for {} × {} × {}", matmul_.rows,
            matmul_.inner, matmul_.columns);
    return found;
  }

  cublasStatus_t launch(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                        cudaStream_t stream) const {
    const float one = 1, beta = matmul_.c == nullptr ? 0 : 1;
    return cublasLtMatmul(handle, description_, &one, matmul_.b.values, first_, matmul_.a.values,
                          second_, &beta, source(), out_, matmul_.out, out_, &algorithm,
                          matmul_.workspace, matmul_.workspace_bytes, stream);
  }

 private:
  // [rows,columns] in column-major order, before the transposition in the description.
  static void describe(Layout& layout, int64_t rows, int64_t columns, const Matrix& matrix) {
    if (matrix.transposed) std::swap(rows, columns);
    check(cublasLtMatrixLayoutCreate(layout.address(), CUDA_R_16BF, rows, columns, matrix.stride));
  }
  const void* source() const { return matmul_.c == nullptr ? matmul_.out : matmul_.c; }

  const Matmul& matmul_;
  Description description_;
  Layout first_, second_, out_;
};

cublasLtHandle_t handle_of_device() {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;  // live as long as the process
  int device = 0;
  check(cudaGetDevice(&device));
  const std::scoped_lock lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) check(cublasLtCreate(&handle));
  return handle;
}

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event));
  }
  ~Stopwatch() {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start() { check(cudaEventRecord(events_[0], stream_)); }
  float stop() {
    float ms = 0;
    check(cudaEventRecord(events_[1], stream_));
    check(cudaEventSynchronize(events_[1]));
    check(cudaEventElapsedTime(&ms, events_[0], events_[1]));
    return ms;
  }

 private:
  cudaStream_t stream_;
  std::array<cudaEvent_t, 2> events_ = {};
};

// Clears the L2 cache before each timing, because a training step leaves the operands in DRAM.
class CacheFlush {
 public:
  explicit CacheFlush(cudaStream_t stream) : stream_(stream) {
    check(cudaMallocAsync(&memory_, kBytes, stream));
  }
  ~CacheFlush() { cudaFreeAsync(memory_, stream_); }
  CacheFlush(const CacheFlush&) = delete;
  CacheFlush& operator=(const CacheFlush&) = delete;

  void run() { check(cudaMemsetAsync(memory_, 0, kBytes, stream_)); }

 private:
  static constexpr size_t kBytes = size_t{128} << 20;
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

// How matmuls of one size are computed: by an algorithm of cuBLASLt, or by CUTLASS.
struct Algorithm {
  cublasLtMatmulAlgo_t cublas = {};
  bool use_cutlass = false;
};

cublasStatus_t launch(const Algorithm& algorithm, const Matmul& matmul, const Call& call,
                      cublasLtHandle_t handle, cudaStream_t stream) {
  if (!algorithm.use_cutlass) return call.launch(handle, algorithm.cublas, stream);
  cutlass_matmul(matmul, stream);
  return CUBLAS_STATUS_SUCCESS;
}

// The matmul may run several times, since `out` is not one of its inputs.
Algorithm fastest(const Matmul& matmul, const Call& call, cublasLtHandle_t handle,
                  cudaStream_t stream) {
  std::vector<Algorithm> algorithms;
  for (const auto& proposal : call.proposals(handle))
    algorithms.push_back({.cublas = proposal.algo});
  if (has_cutlass_matmul(matmul)) algorithms.push_back({.use_cutlass = true});
  Stopwatch watch(stream);
  CacheFlush flush(stream);
  std::vector<float> least(algorithms.size(), FLT_MAX);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < algorithms.size(); ++i) {
      flush.run();
      watch.start();
      if (launch(algorithms[i], matmul, call, handle, stream) != CUBLAS_STATUS_SUCCESS) continue;
      least[i] = std::min(least[i], watch.stop());
    }
  }
  return algorithms[std::min_element(least.begin(), least.end()) - least.begin()];
}

using Key = std::array<int64_t, 14>;

Key key_of(const Matmul& p) {
  return {p.rows,
          p.columns,
          p.inner,
          static_cast<int64_t>(p.epilogue),
          p.a.stride,
          p.a.transposed,
          p.b.stride,
          p.b.transposed,
          p.out_stride,
          p.c != nullptr,
          alignment_of(p.a.values),
          alignment_of(p.b.values),
          alignment_of(p.c == nullptr ? p.out : p.c),
          alignment_of(p.out)};
}

class Algorithms {
 public:
  static Algorithms& of_process() {
    static Algorithms algorithms;
    return algorithms;
  }

  Algorithm find(const Matmul& matmul, const Call& call, cublasLtHandle_t handle,
                 cudaStream_t stream) {
    const std::scoped_lock lock(mutex_);
    const Key key = key_of(matmul);
    const auto known = algorithms_.find(key);
    const bool tuning = tunes && !is_capturing(stream);
    if (known != algorithms_.end() && (known->second.tuned || !tuning))
      return known->second.algorithm;
    const Algorithm algorithm = tuning ? fastest(matmul, call, handle, stream)
                                       : Algorithm{.cublas = call.proposals(handle).front().algo};
    algorithms_[key] = {algorithm, tuning};
    return algorithm;
  }

  std::atomic<bool> tunes = false;

 private:
  struct Found {
    Algorithm algorithm;
    bool tuned = false;
  };

  std::mutex mutex_;
  std::map<Key, Found> algorithms_;
};

}  // namespace

void matmul_cuda(const Matmul& matmul, Stream on) {
  if (matmul.rows == 0 || matmul.columns == 0) return;
  const auto stream = static_cast<cudaStream_t>(on);
  if (matmul.epilogue == Epilogue::ReluBackward) return cutlass_matmul(matmul, stream);
  if (has_few_rows_matmul(matmul)) {
    Matmul few = matmul;
    few.constant_b = matmul.constant_b && is_capturing(stream);
    return few_rows_matmul(few, stream);
  }
  const cublasLtHandle_t handle = handle_of_device();
  const Call call(matmul);
  const Algorithm algorithm = Algorithms::of_process().find(matmul, call, handle, stream);
  check(launch(algorithm, matmul, call, handle, stream));
}

bool has_relu_backward_epilogue(const Matmul& matmul) { return has_cutlass_matmul(matmul); }

void tune_matmuls(bool on) { Algorithms::of_process().tunes = on; }

bool built_with_matmuls() { return true; }

size_t matmul_workspace_bytes() { return kWorkspaceBytes; }

}  // namespace convseq::kernels
