#pragma once

#include <memory>

#include "convseq/model/seq2seq.h"
#include "convseq/runtime/engine.h"

namespace convseq {

struct TorchEngineOptions {
  int64_t label_rows = 512;  // pairs of source and target that score() decodes at once
};

// The Engine of a libtorch model, on the device and in the type that the model has at the time of
// a call. The model may be in training: it is used without dropout and gradients.
class TorchEngine : public Engine {
 public:
  explicit TorchEngine(Seq2Seq& model, TorchEngineOptions options = {});

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

 private:
  torch::Device device() const;

  Seq2Seq& model_;
  TorchEngineOptions options_;
};

}  // namespace convseq
