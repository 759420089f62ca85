#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "convseq/model/seq2seq.h"
#include "convseq/ops/graph/device_graph.h"
#include "convseq/ops/select_token.h"

namespace convseq {

struct DecodeShape {
  int64_t rows = 0;
  int64_t source = 0;  // width of the sources
  int64_t tokens = 0;  // decoding steps
  bool operator==(const DecodeShape&) const = default;
};

struct DecodeSlotOptions {
  bool fixed = false;                     // a state of fixed capacity; else it grows with each step
  bool captures = false;                  // on a GPU, with a fixed state
  KvCacheType cache = KvCacheType::Auto;  // of a fixed state
};

// The decode state and the chosen tokens of one batch. Captured as CUDA graphs, a slot serves all
// batches of its shape, one after another.
class DecodeSlot {
 public:
  DecodeSlot(Seq2Seq& model, const DecodeShape& shape, const DecodeSlotOptions& options);
  ~DecodeSlot();

  const DecodeShape& shape() const { return shape_; }

  // Encoder output [B,S,d]. Rows from `open_rows` on are padding.
  void start(const torch::Tensor& encoded, const torch::Tensor& lengths, int64_t open_rows);
  void step();                                // chooses the likeliest tokens
  void step(std::span<const int32_t> given);  // one token per open row
  int64_t steps() const { return steps_; }

  // Tokens [B,n] int64 and log-probabilities [B,n] fp32 of the steps from `first` on, on the host.
  std::pair<torch::Tensor, torch::Tensor> read(int64_t first) const;

  // Row i becomes the former row rows[i]; rows from `open_rows` on are padding. With another number
  // of rows, the following steps are launched, not captured.
  void reorder(const std::vector<int64_t>& rows, int64_t open_rows);
  bool was_refused() const { return refused_; }  // it could not be captured
  bool is_reusable() const { return options_.captures && !refused_; }

 private:
  void run(const std::function<void()>& work) const;
  void begin(const torch::Tensor& encoded, const torch::Tensor& lengths);
  void close_from(int64_t row);

  Seq2Seq& model_;
  torch::Device device_;
  DecodeShape shape_;
  DecodeSlotOptions options_;
  bool refused_ = false;
  std::unique_ptr<GraphStream> stream_;  // with a memory pool of its own, which keeps the state
  std::unique_ptr<DeviceGraph> start_graph_, step_graph_;
  torch::Tensor encoded_, lengths_;  // what start_graph_ reads
  DecodeState state_;
  ops::TokenSelection selection_;
  int64_t steps_ = 0;
};

}  // namespace convseq
