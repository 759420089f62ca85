#pragma once

#include <span>
#include <vector>

#include "convseq/runtime/row_work.h"

namespace convseq {

// The keys and values of some rows of the encoder's output, for the encoder-decoder attention of
// each decoder layer: [rows, 2 · heads · d_kv].
class SourceMemory {
 public:
  SourceMemory(const CpuModel& model, ThreadPool& pool, const float* states, int64_t rows);

  std::span<float* const> layers() const { return layers_; }

 private:
  Buffer values_;
  std::vector<float*> layers_;
};

}  // namespace convseq
