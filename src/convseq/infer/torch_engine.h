#pragma once

#include <memory>
#include <optional>

#include "convseq/infer/decode_slots.h"
#include "convseq/model/seq2seq.h"
#include "convseq/ops/graph/graph_cache.h"
#include "convseq/runtime/engine.h"

namespace convseq {

struct TorchEngineOptions {
  int64_t label_rows = 512;  // pairs of source and target that score() decodes at once
  // Whether batches are padded up to few shapes; default: on a GPU, where a shape is captured.
  std::optional<bool> pads_shapes = std::nullopt;
  bool graphs = true;                     // on a GPU, work is captured as CUDA graphs
  KvCacheType cache = KvCacheType::Auto;  // of greedy decoding, where batches are padded
};

// The Engine of a libtorch model, on the device and in the type that the model has at the time of
// encode(). The model may be in training: it is used without dropout and gradients, and its weights
// may change between two batches; captured graphs stay valid where these keep their addresses.
class TorchEngine : public Engine {
 public:
  explicit TorchEngine(Seq2Seq& model, const TorchEngineOptions& options = {});

  const ModelConfig& config() const override { return model_.config(); }
  DecodePace pace() const override;

  std::unique_ptr<Encoded> encode(const std::vector<TokenIds>& sources) override;
  std::unique_ptr<Decoding> start(const Encoded& encoded, int64_t max_tokens) override;
  void step(Decoding& decoding, const Select& select) override;
  std::vector<ChosenTokens> read(Decoding& decoding) override;
  void reorder(Decoding& decoding, std::span<const int64_t> rows) override;

  ClassScores score(const Encoded& encoded, const std::vector<TokenIds>& targets) override;
  std::vector<TokenNll> token_nll(const Encoded& encoded,
                                  const std::vector<TokenIds>& targets) override;
  ClassScores classify(const Encoded& encoded) override;

  int64_t captured_graphs() const { return graphs_ ? graphs_->captured() : 0; }

 private:
  torch::Device device() const { return weights_.front().device(); }
  bool pads_shapes() const { return options_.pads_shapes.value_or(device().is_cuda()); }

  void run(const std::function<void()>& work);  // on the stream of the graphs, if there are any
  // `body` without gradients and dropout, as a graph where there are any.
  Tensors call(const std::string& function, const Tensors& inputs,
               const std::function<Tensors(const Tensors&)>& body);
  void follow_weights();

  Seq2Seq& model_;
  TorchEngineOptions options_;
  std::vector<torch::Tensor> weights_;
  std::vector<const void*> addresses_;  // of the weights, which the graphs read
  std::unique_ptr<GraphCache> graphs_;
  std::shared_ptr<DecodeSlots> slots_;
};

}  // namespace convseq
