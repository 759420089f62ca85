#include "convseq/answer/predict/prediction_stream.h"

#include <algorithm>

#include "convseq/base/counted.h"
#include "convseq/data/prefetcher.h"

namespace convseq {
namespace {

constexpr int64_t kBlockRows = 128;
constexpr size_t kBlockBytes = 1 << 20;

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
  using Rows = std::vector<TextRow>;
  using Inputs = std::vector<PredictorInput>;
  const int64_t window = std::max<int64_t>(options.window, 1);
  const size_t threads = prefetch_threads(options.threads);
  const auto block_rows = static_cast<size_t>(
      std::clamp<int64_t>(window / static_cast<int64_t>(threads), 1, kBlockRows));
  const auto read_block = [&]() -> std::optional<Rows> {
    Rows block;
    size_t bytes = 0;
    for (TextRow row; block.size() < block_rows && bytes < kBlockBytes && reader.next(row);) {
      bytes += row.source.text.size();
      block.push_back(std::move(row));
    }
    if (block.empty()) return std::nullopt;
    return block;
  };
  const auto encode_block = [&](const Rows& block) {
    Inputs inputs;
    for (const TextRow& row : block) inputs.push_back(encode(row, encoder, predictor));
    return inputs;
  };
  // As many blocks as make up the next window are kept ready.
  Prefetcher<Rows, Inputs> blocks(
      {.threads = threads, .capacity = threads + static_cast<size_t>(window) / block_rows},
      read_block, encode_block);

  PredictionTotals totals;
  Inputs inputs;
  const auto answer = [&] {
    const std::vector<Prediction> predictions = predictor.predict(std::exchange(inputs, {}));
    for (const Prediction& each : predictions) totals.add(each);
    sink(predictions);
  };
  try {
    while (auto block = blocks.next()) {
      std::move(block->begin(), block->end(), std::back_inserter(inputs));
      if (std::ssize(inputs) >= window) answer();
    }
    if (!inputs.empty()) answer();
  } catch (...) {
    options.on_failure();
    throw;
  }
  return totals;
}

Prediction predict_row(const TextRow& row, const TaskEncoder& encoder, Predictor& predictor) {
  return predictor.predict({encode(row, encoder, predictor)}).front();
}

}  // namespace convseq
