#pragma once

#include <span>

#include "convseq/runtime/cpu_model.h"
#include "convseq/runtime/thread_pool.h"

namespace convseq {

// fp32 or packed rows that are written before they are read.
class Buffer {
 public:
  // Keeps its contents only where it is large enough already.
  void reserve(int64_t bytes);
  void reserve_floats(int64_t count) { reserve(count * static_cast<int64_t>(sizeof(float))); }
  std::byte* data() const { return memory_.get(); }
  float* floats() const { return reinterpret_cast<float*>(memory_.get()); }

 private:
  AlignedBytes memory_{nullptr, [](std::byte*) {}};
  int64_t bytes_ = 0;
};

// Rows [begin, end) attend to the rows [first, first + count) of the encoder's output.
struct SourceSpan {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// Everything in a stack that computes each row by itself: all except mixing. With a pool, each
// matmul is divided over its threads by columns; that is for the few rows of a decoding step.
// Without one, all runs on the calling thread.
class RowWork {
 public:
  RowWork(const CpuModel& model, ThreadPool* pool) : model_(model), pool_(pool) {}

  // Room for this many rows. Nothing is allocated after this call.
  void reserve(int64_t rows);

  // From now on the residual stream is x [rows, d], and is updated in place.
  void begin(float* x, int64_t rows);
  // The inputs of a mixer, [rows, mixer.input.outputs].
  void project(const CpuLayer& layer, float* projected);
  // The place for the outputs of a mixer, [rows, mixer.output.inputs].
  float* mixed() const { return mixed_.floats(); }
  std::byte* mixer_workspace() const { return workspace_.data(); }
  // The output projection of the mixer and what follows it in its layer. `key_values` are those of
  // the source, [source rows, 2 · heads · d_kv], if the layer attends to it.
  void finish(const CpuLayer& layer, const float* key_values, std::span<const SourceSpan> sources);
  // The final norm of a stack, [rows, d].
  void leave(const kernels::NormParameters& norm, float* out);
  // The logits after the final norm of the decoder, of rows [begin, end): [end − begin, V].
  void logits(int64_t begin, int64_t end, float* out);

 private:
  void enter(const kernels::NormParameters& norm);
  void add_branch(const kernels::PackedRows& rows, const kernels::PackedMatrix& matrix,
                  const kernels::NormParameters& norm);
  void add_mixed(const kernels::PackedMatrix& matrix, const kernels::NormParameters& norm);
  void add_cross(const CpuCrossAttention& cross, const float* key_values,
                 std::span<const SourceSpan> sources);
  void add_ffn(const CpuFeedForward& ffn);
  void matmul(const kernels::PackedRows& rows, const kernels::PackedMatrix& matrix,
              const kernels::MatmulOutput& output);
  template <class Body>
  void for_rows(Body body);  // body(RowRange)

  kernels::PackedRows packed(const Buffer& buffer, int64_t inputs) const;
  bool is_pre_norm() const { return model_.config.norm == NormStyle::PreRmsNorm; }

  const CpuModel& model_;
  ThreadPool* pool_;
  float* x_ = nullptr;
  int64_t rows_ = 0;
  bool input_is_packed_ = false;  // with norms inside the branches: `input_` holds x
  Buffer input_;                  // of a branch, packed
  Buffer inner_;                  // of the last matmul of a branch, packed
  Buffer mixed_, queries_, hidden_, branch_, workspace_;
};

}  // namespace convseq
