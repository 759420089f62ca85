#pragma once

#include <functional>
#include <span>
#include <vector>

#include "convseq/runtime/row_work.h"

namespace convseq {

// One sequence of a pass through a stack.
struct PassSequence {
  std::span<const int32_t> ids;
  // Its source: rows [source_first, source_first + source_count) of the keys and values.
  int64_t source_first = 0;
  int64_t source_count = 0;
};

struct PassOptions {
  Side side = Side::Encoder;
  // The decoder only: the keys and values of the sources, per layer.
  std::span<float* const> key_values = {};
};

// Some rows at the end of a pass, of which `work` holds the residual stream.
struct PassRows {
  RowWork& work;
  int64_t first = 0;  // among the rows of all sequences
  int64_t count = 0;
  int64_t thread = 0;
};

// The parallel pass of a stack through whole sequences. Their rows stand one after the other,
// without padding, and are cut into blocks that stay in the cache of one core. A thread takes a
// block from one mixing to the next; then all threads wait, because mixing reads the neighbours'
// projected rows. The decoder reads the start token and all ids of a sequence except the last.
class SequencePass {
 public:
  SequencePass(const CpuModel& model, ThreadPool& pool);

  // `leave` is called once for each block of rows, by several threads at a time.
  void run(std::span<const PassSequence> sequences, const PassOptions& options,
           const std::function<void(const PassRows&)>& leave);

  int64_t max_block_rows() const;
  // About as many rows are computed at once.
  int64_t group_rows() const;

 private:
  struct Group;
  void run_group(const Group& group, const PassOptions& options,
                 const std::function<void(const PassRows&)>& leave);
  void embed(const Group& group, Side side, int64_t begin, int64_t end);
  void mix(const Group& group, const CpuLayer& layer, int64_t begin, int64_t end,
           const float* projected, RowWork& work);
  void find_sources(const Group& group, int64_t begin, int64_t end,
                    std::vector<SourceSpan>& sources) const;

  const CpuModel& model_;
  ThreadPool& pool_;
  std::vector<RowWork> works_;                    // one per thread
  std::vector<std::vector<SourceSpan>> sources_;  // likewise
  Buffer x_;
  Buffer projected_[2];  // of the layer that is mixed, and of the next
};

// Copies the embedding of a token, with its learned position if the stack has some.
void embed_token(const CpuModel& model, const CpuStack& stack, int32_t id, int64_t position,
                 float* to);
void check_token(const ModelConfig& config, int32_t id);
void check_positions(const ModelConfig& config, int64_t tokens);

}  // namespace convseq
