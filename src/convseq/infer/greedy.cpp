#include "convseq/infer/greedy.h"

#include <torch/types.h>

#include <numeric>

#include "convseq/infer/inference_scope.h"

namespace convseq {
namespace {

// The rows still decoding, each with the number of the generation that it writes.
class OpenRows {
 public:
  explicit OpenRows(size_t rows) : generation_(rows) {
    std::iota(generation_.begin(), generation_.end(), size_t{0});
  }
  size_t size() const { return generation_.size(); }
  size_t generation(size_t row) const { return generation_[row]; }

  void keep(const std::vector<int64_t>& rows) {  // ascending
    for (size_t i = 0; i < rows.size(); ++i) {
      generation_[i] = generation_[static_cast<size_t>(rows[i])];
    }
    generation_.resize(rows.size());
  }

 private:
  std::vector<size_t> generation_;
};

}  // namespace

std::vector<Generation> generate_greedy(Seq2Seq& model, const PaddedIds& source,
                                        const GreedyOptions& options) {
  require(options.max_tokens >= 1, "generate: max_tokens is {}; at least 1", options.max_tokens);
  const InferenceScope scope(model);
  const ModelConfig& config = model.config();
  std::vector<Generation> generations(static_cast<size_t>(source.rows()));
  OpenRows open(generations.size());
  DecodeState state = model.start(model.encode(source.ids, source.lengths), source.lengths);
  auto tokens =
      torch::full({source.rows(), 1}, config.decoder_start_token_id, source.ids.options());
  for (int64_t step = 0; step < options.max_tokens && open.size() > 0; ++step) {
    tokens = model.step(tokens, state).argmax(-1);  // [B,1]
    const auto chosen = tokens.cpu();
    std::vector<int64_t> going_on;
    for (size_t row = 0; row < open.size(); ++row) {
      const int64_t token = chosen.data_ptr<int64_t>()[row];
      Generation& generation = generations[open.generation(row)];
      generation.ended = token == config.eos_token_id;
      if (generation.ended) continue;
      generation.tokens.push_back(static_cast<int32_t>(token));
      going_on.push_back(static_cast<int64_t>(row));
    }
    if (going_on.size() == open.size()) continue;
    open.keep(going_on);
    const auto rows = torch::tensor(going_on, torch::kInt64).to(source.ids.device());
    tokens = tokens.index_select(0, rows);
    state.reorder(rows);
  }
  return generations;
}

}  // namespace convseq
