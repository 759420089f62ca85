#include "convseq/answer/greedy.h"

#include <bit>

#include "convseq/base/error.h"

namespace convseq {
namespace {

// The rows of a Decoding, each with the generation that it writes.
class DecodingRows {
 public:
  DecodingRows(const std::vector<TokenIds>& sources, std::vector<Generation>& generations,
               int64_t eos, const GreedyOptions& options)
      : eos_(eos), options_(options) {
    for (size_t i = 0; i < sources.size(); ++i) rows_.push_back({&sources[i], &generations[i]});
  }

  void append(const ChosenTokens& step) {
    for (size_t row = 0; row < rows_.size(); ++row) {
      Generation& generation = *rows_[row].generation;
      if (generation.ended) continue;
      generation.log_probability += step.log_probabilities[row];
      generation.ended = step.ids[row] == eos_ ||
                         (options_.ends && options_.ends(*rows_[row].source, step.ids[row]));
      if (!generation.ended) generation.tokens.push_back(step.ids[row]);
    }
  }

  std::vector<int64_t> open() const {
    std::vector<int64_t> numbers;
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (!rows_[row].generation->ended) numbers.push_back(static_cast<int64_t>(row));
    }
    return numbers;
  }

  void keep_open() {
    std::erase_if(rows_, [](const Row& each) { return each.generation->ended; });
  }
  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    const TokenIds* source;
    Generation* generation;
  };
  std::vector<Row> rows_;
  int64_t eos_;
  const GreedyOptions& options_;
};

// Short answers end soon, so the first reads come after 1, 2, 4, … steps. Ended rows go on between
// two reads, but not past the last position that the model has.
bool is_read_due(int64_t steps, const Engine& engine, const GreedyOptions& options) {
  const ModelConfig& config = engine.config();
  const int64_t between = engine.pace().steps_between_reads;
  const bool at_last_position =
      config.positions == Positions::Learned && steps == config.max_positions;
  return steps % between == 0 ||
         (steps < between && std::has_single_bit(static_cast<uint64_t>(steps))) ||
         steps == options.max_tokens || at_last_position;
}

}  // namespace

std::vector<Generation> generate_greedy(Engine& engine, const std::vector<TokenIds>& sources,
                                        const GreedyOptions& options) {
  require(options.max_tokens >= 1, "generate: max_tokens is {}; at least 1", options.max_tokens);
  std::vector<Generation> generations(sources.size());
  DecodingRows rows(sources, generations, engine.config().eos_token_id, options);
  const auto decoding = engine.start(*engine.encode(sources), options.max_tokens);
  for (int64_t steps = 1; steps <= options.max_tokens; ++steps) {
    engine.step(*decoding, {});
    if (!is_read_due(steps, engine, options)) continue;
    for (const ChosenTokens& step : engine.read(*decoding)) rows.append(step);
    const std::vector<int64_t> open = rows.open();
    if (open.empty()) break;
    const double share = static_cast<double>(open.size()) / static_cast<double>(rows.size());
    if (open.size() == rows.size() || share > engine.pace().compact_below) continue;
    engine.reorder(*decoding, open);
    rows.keep_open();
  }
  return generations;
}

}  // namespace convseq
