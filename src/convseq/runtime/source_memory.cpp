#include "convseq/runtime/source_memory.h"

#include <algorithm>

namespace convseq {
namespace {

constexpr int64_t kRowsPerTask = 64;

}  // namespace

SourceMemory::SourceMemory(const CpuModel& model, ThreadPool& pool, const float* states,
                           int64_t rows) {
  const int64_t d = model.config.d_model;
  const int64_t width = 2 * model.config.heads * model.config.d_kv;
  values_.reserve_floats(std::ssize(model.decoder.layers) * rows * width);
  for (int64_t i = 0; i < std::ssize(model.decoder.layers); ++i) {
    layers_.push_back(values_.floats() + i * rows * width);
  }
  const auto shape_of = [&](int64_t count) {
    return kernels::PackedRowsShape{
        .rows = count, .inputs = d, .type = model.type, .level = model.level};
  };
  const int64_t packed_bytes = kernels::packed_bytes(shape_of(kRowsPerTask));
  Buffer packed;  // one block per thread
  packed.reserve(packed_bytes * pool.threads());
  pool.run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](int64_t task, int64_t thread) {
    const int64_t begin = task * kRowsPerTask, count = std::min(kRowsPerTask, rows - begin);
    const kernels::PackedRows block{shape_of(count), packed.data() + thread * packed_bytes};
    kernels::pack_rows({states + begin * d, d}, block, {0, count});
    for (size_t i = 0; i < layers_.size(); ++i) {
      kernels::packed_matmul(block, model.decoder.layers[i].cross->key_value,
                             {.data = layers_[i] + begin * width, .stride = width});
    }
  });
}

}  // namespace convseq
