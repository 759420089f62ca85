#pragma once

#include <memory>
#include <span>
#include <vector>

#include "convseq/runtime/engine.h"
#include "convseq/runtime/row_work.h"
#include "convseq/runtime/source_memory.h"

namespace convseq {

struct DecodingSource {
  int64_t first = 0;  // row of the encoder's output
  int64_t count = 0;
};

struct CpuDecodingOptions {
  std::vector<DecodingSource> sources;  // one per target sequence
  int64_t max_tokens = 0;
};

// A batch of target sequences, one row each, that a CpuEngine decodes step by step.
class CpuDecoding : public Engine::Decoding {
 public:
  CpuDecoding(std::shared_ptr<const CpuModel> model, std::shared_ptr<ThreadPool> pool,
              SourceMemory memory, const CpuDecodingOptions& options);

  void step(const Select& select);
  std::vector<ChosenTokens> read();
  void reorder(std::span<const int64_t> rows);

 private:
  int64_t rows() const { return static_cast<int64_t>(next_.size()); }
  void reserve_rows();
  void reserve_tokens();
  void decode();
  void choose(int64_t row, const Select& select);

  std::shared_ptr<const CpuModel> model_;
  std::shared_ptr<ThreadPool> pool_;
  SourceMemory memory_;
  RowWork work_;
  int64_t max_tokens_;
  int64_t steps_ = 0;
  int64_t capacity_ = 0;                    // tokens that the states have room for
  std::vector<std::vector<float>> states_;  // per layer: [rows, state_values(capacity)]
  std::vector<SourceSpan> sources_;         // one per row
  std::vector<int32_t> next_;               // the inputs of the next step
  std::vector<uint8_t> ended_;
  std::vector<int32_t> ids_;              // [steps that were not read, rows]
  std::vector<float> log_probabilities_;  // likewise
  Buffer x_, projected_, logits_, workspaces_;
  int64_t workspace_bytes_ = 0;  // per thread
};

}  // namespace convseq
