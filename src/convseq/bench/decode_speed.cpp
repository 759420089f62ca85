#include "convseq/bench/decode_speed.h"

#include <torch/types.h>

#include <algorithm>

#include "convseq/base/error.h"
#include "convseq/bench/device_memory.h"
#include "convseq/bench/timing.h"
#include "convseq/bench/training_model.h"
#include "convseq/infer/inference_scope.h"
#include "convseq/train/step/memory_estimate.h"

namespace convseq::bench {
namespace {

constexpr int64_t kTimedSteps = 16;

// A model in the middle of decoding. Rows never finish, so every step computes all rows.
class Decoding {
 public:
  Decoding(Seq2Seq& model, const DecodeSpeedOptions& options) : model_(model), scope_(model) {
    const auto ids = torch::TensorOptions(options.device).dtype(torch::kInt64);
    const auto source =
        torch::randint(2, model.config().vocab_size, {options.batch, options.source}, ids);
    state_ = model.start(model.encode(source, {}), {});
    tokens_ = torch::full({options.batch, 1}, model.config().decoder_start_token_id, ids);
  }

  void step() {
    tokens_ = model_.step(tokens_, state_).argmax(-1);
    tokens_.cpu();  // generation reads every token on the host
  }
  const DecodeState& state() const { return state_; }

 private:
  Seq2Seq& model_;
  InferenceScope scope_;
  DecodeState state_;
  torch::Tensor tokens_;
};

double median_step_ms(Decoding& decoding, int64_t steps, torch::Device device) {
  std::vector<double> times;
  for (int64_t i = 0; i < steps; ++i) {
    const double start = now_ms(device);
    decoding.step();
    times.push_back(now_ms(device) - start);
  }
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return times[times.size() / 2];
}

DecodeSpeed advance(Decoding& decoding, int64_t position, const DecodeSpeedOptions& options) {
  const int64_t timed = std::min(kTimedSteps, position - decoding.state().position);
  while (decoding.state().position < position - timed) decoding.step();
  const double ms = median_step_ms(decoding, timed, options.device);
  return {.position = position,
          .tokens_per_second = 1e3 * static_cast<double>(options.batch) / ms,
          .step_ms = ms,
          .state_bytes = decoding.state().mixer_bytes() / options.batch,
          .source_bytes = decoding.state().source_bytes() / options.batch};
}

void check(const DecodeSpeedOptions& options) {
  check_models(options.models);
  int64_t last = 0;
  for (const int64_t position : options.positions) {
    require(position > last, "{}: {} after {}; they must ascend from 1", OptionName("positions"),
            position, last);
    last = position;
  }
  for (const ModelConfig& config : options.models) {
    require(config.decoder_layers > 0, "{}: a model without a decoder does not decode",
            OptionName("models"));
    const MemoryEstimate estimate = inference_memory(config, {.rows = options.batch,
                                                              .source = options.source,
                                                              .target = last,
                                                              .precision = options.type});
    require_device_memory(options.device, estimate.total(),
                          fmt::format("bench decode: {} with batch {}, source {} and {} positions",
                                      name_of(config.mixer), options.batch, options.source, last),
                          options.max_memory);
  }
}

Plot plot_of(const std::vector<DecodeSpeed>& speeds, const char* y_label,
             double (*value)(const DecodeSpeed&)) {
  Plot plot{.x_label = "position (tokens decoded)", .y_label = y_label};
  for (const DecodeSpeed& speed : speeds) {
    if (plot.series.empty() || plot.series.back().title != speed.mixer) {
      const auto colour = static_cast<int>(plot.series.size()) + 1;
      plot.series.push_back({.title = speed.mixer, .colour = colour});
    }
    plot.series.back().points.emplace_back(static_cast<double>(speed.position), value(speed));
  }
  return plot;
}

}  // namespace

std::vector<DecodeSpeed> measure_decoding(const DecodeSpeedOptions& options) {
  check(options);
  const int64_t total = std::ssize(options.models) * std::ssize(options.positions);
  std::vector<DecodeSpeed> speeds;
  for (const ModelConfig& config : options.models) {
    const auto model = random_model(config, options.device);
    model->to(options.type);
    Decoding(*model, options).step();  // warms up
    Decoding decoding(*model, options);
    for (const int64_t position : options.positions) {
      const std::string next = fmt::format("{} {}", name_of(config.mixer), position);
      if (!options.watch(std::ssize(speeds), total, next)) return speeds;
      speeds.push_back(advance(decoding, position, options));
      speeds.back().mixer = name_of(config.mixer);
    }
  }
  return speeds;
}

std::vector<Row> rows_of(const std::vector<DecodeSpeed>& speeds) {
  std::vector<Row> rows;
  for (const DecodeSpeed& speed : speeds) {
    const std::string name = fmt::format("decode_{}_{}", speed.mixer, speed.position);
    rows.push_back({.name = name, .value = speed.tokens_per_second, .unit = "tokens/s"});
    rows.push_back({.name = name + "_state",
                    .value = static_cast<double>(speed.state_bytes),
                    .unit = "bytes per sequence"});
    rows.push_back({.name = name + "_source_state",
                    .value = static_cast<double>(speed.source_bytes),
                    .unit = "bytes per sequence"});
  }
  return rows;
}

Plot speed_plot(const std::vector<DecodeSpeed>& speeds) {
  return plot_of(speeds, "tokens per second",
                 [](const DecodeSpeed& speed) { return speed.tokens_per_second; });
}

Plot state_plot(const std::vector<DecodeSpeed>& speeds) {
  return plot_of(speeds, "bytes of decode state per sequence, without the source",
                 [](const DecodeSpeed& speed) { return static_cast<double>(speed.state_bytes); });
}

}  // namespace convseq::bench
