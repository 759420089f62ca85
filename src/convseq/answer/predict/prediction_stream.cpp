#include "convseq/answer/predict/prediction_stream.h"

#include <algorithm>

#include "convseq/base/counted.h"
#include "convseq/data/prefetcher.h"

namespace convseq {
namespace {

constexpr int64_t kBlockRows = 128;
constexpr size_t kBlockBytes = 1 << 20;

template <class Row>
struct Block {
  std::vector<Row> rows;
  bool pause = false;  // the input has nothing behind them yet
};

PredictorInput encode(const TextRow& row, const TaskEncoder& encoder, const Predictor& predictor) {
  PredictorInput input{.row = row.number};
  input.error = row.error;
  if (!input.error.empty()) return input;
  TaskEncoder::Source source = encoder.encode_source(row.source);
  input.source = std::move(source.ids);
  input.tokens_cut = source.tokens_cut;
  if (predictor.fills_spans(input.source)) input.text = row.source.text;
  return input;
}

}  // namespace

void PredictionTotals::add(const Prediction& prediction) {
  ++rows;
  if (prediction.tokens_cut > 0) ++cut;
  if (prediction.error.empty()) return;
  if (++failed == 1) first_error = prediction.error;
}

std::string PredictionTotals::describe() const {
  std::string text = counted(rows, "row");
  if (cut > 0) text += fmt::format(", {} cut", cut);
  if (failed > 0) text += fmt::format(", {} with errors, the first: {}", failed, first_error);
  return text;
}

PredictionTotals predict_rows(TextReader& reader, const TaskEncoder& encoder, Predictor& predictor,
                              const PredictionStreamOptions& options,
                              const std::function<void(const std::vector<Prediction>&)>& sink) {
  const int64_t window = std::max<int64_t>(options.window, 1);
  const size_t threads = prefetch_threads(options.threads);
  const auto block_rows = static_cast<size_t>(
      std::clamp<int64_t>(window / static_cast<int64_t>(threads), 1, kBlockRows));
  const auto read_block = [&]() -> std::optional<Block<TextRow>> {
    Block<TextRow> block;
    size_t bytes = 0;
    TextRow row;
    while (block.rows.size() < block_rows && bytes < kBlockBytes && !block.pause) {
      if (!reader.next(row)) break;
      block.pause = reader.would_wait();
      if (!options.shard.has(row.number)) continue;
      bytes += row.source.text.size();
      block.rows.push_back(std::move(row));
    }
    if (block.rows.empty() && !block.pause) return std::nullopt;
    return block;
  };
  const auto encode_block = [&](const Block<TextRow>& block) {
    Block<PredictorInput> inputs{.rows = {}, .pause = block.pause};
    for (const TextRow& row : block.rows) inputs.rows.push_back(encode(row, encoder, predictor));
    return inputs;
  };
  // As many blocks as make up the next window are kept ready.
  Prefetcher<Block<TextRow>, Block<PredictorInput>> blocks(
      {.threads = threads, .capacity = threads + static_cast<size_t>(window) / block_rows},
      read_block, encode_block);

  PredictionTotals totals;
  std::vector<PredictorInput> inputs;
  const auto answer = [&] {
    const std::vector<Prediction> predictions = predictor.predict(std::exchange(inputs, {}));
    for (const Prediction& each : predictions) totals.add(each);
    sink(predictions);
  };
  try {
    while (auto block = blocks.next()) {
      std::move(block->rows.begin(), block->rows.end(), std::back_inserter(inputs));
      const bool waits = block->pause && !inputs.empty() && !blocks.is_ready();
      if (std::ssize(inputs) >= window || waits) answer();
    }
    if (!inputs.empty()) answer();
  } catch (...) {
    options.on_failure();
    throw;
  }
  return totals;
}

}  // namespace convseq
