#include "convseq/bench/decode_speed.h"

#include <torch/types.h>

#include <algorithm>
#include <optional>

#include "convseq/base/error.h"
#include "convseq/bench/device_memory.h"
#include "convseq/bench/timing.h"
#include "convseq/bench/training_model.h"
#include "convseq/infer/inference_scope.h"
#include "convseq/ops/graph/device_graph.h"
#include "convseq/ops/linear.h"
#include "convseq/ops/select_token.h"
#include "convseq/spec/flops.h"
#include "convseq/train/step/memory_estimate.h"

namespace convseq::bench {
namespace {

constexpr int64_t kTimedSteps = 32;
constexpr int64_t kBursts = 4;  // of timed steps; the tokens are read on the host after each

// A model in the middle of decoding. Rows never finish, so every step computes all rows. On a GPU
// the first step is launched, then captured, and all later ones are replays.
class Decoding {
 public:
  Decoding(Seq2Seq& model, const DecodeSpeedOptions& options) : model_(model), scope_(model) {
    const ModelConfig& config = model.config();
    const auto ids = torch::TensorOptions(options.device).dtype(torch::kInt64);
    const auto source = torch::randint(2, config.vocab_size, {options.batch, options.source}, ids);
    const int64_t capacity = options.positions.back(), start = config.decoder_start_token_id;
    selection_ = ops::start_selection(options.batch, capacity, start, /*pad=*/0, options.device);
    if (options.device.is_cuda()) {
      stream_.emplace(options.device);
      graph_.emplace(*stream_);
    }
    state_ = model.start(model.encode(source, {}), {},
                         {.capacity = graph_ ? capacity : 0, .cache = options.cache});
  }

  void step() {
    if (!graph_) {
      launch();
    } else if (graph_->is_captured()) {
      graph_->replay();
    } else {
      const ops::MatmulTuning tuning;
      stream_->run([&] { launch(); });
      if (position_ == 0) graph_->capture([&] { launch(); });
    }
    ++position_;
  }
  void read_tokens() {
    const auto read = [&] { selection_.next.cpu(); };
    graph_ ? stream_->run(read) : read();
  }
  int64_t position() const { return position_; }

 private:
  void launch() {
    constexpr int64_t kNoToken = -1;  // no row ends
    ops::select_token(model_.step(selection_.next, state_), {.eos = kNoToken}, selection_);
  }

  Seq2Seq& model_;
  InferenceScope scope_;
  std::optional<GraphStream> stream_;
  std::optional<DeviceGraph> graph_;
  DecodeState state_;
  ops::TokenSelection selection_;
  int64_t position_ = 0;
};

double median_step_ms(Decoding& decoding, int64_t steps, torch::Device device) {
  std::vector<double> times;
  const int64_t burst = std::max<int64_t>(1, steps / kBursts);
  decoding.read_tokens();  // waits for the steps before
  for (int64_t done = 0; done < steps; done += burst) {
    const int64_t count = std::min(burst, steps - done);
    const double start = now_ms(device);
    for (int64_t i = 0; i < count; ++i) decoding.step();
    decoding.read_tokens();
    times.push_back((now_ms(device) - start) / static_cast<double>(count));
  }
  return median(std::move(times));
}

// What a step reads at least: the decoder's weights, the output matrix and the decode state.
double step_bytes(const Seq2Seq& model, int64_t batch, const DecodeSpeed& speed) {
  double bytes = static_cast<double>(model.output_matrix().nbytes());
  for (const auto& parameter : model.named_parameters()) {
    if (parameter.key().starts_with("decoder.")) {
      bytes += static_cast<double>(parameter.value().nbytes());
    }
  }
  return bytes + static_cast<double>(batch * (speed.state_bytes + speed.source_bytes));
}

// By kernel, in steps beyond the capacity: they store nothing but compute as much.
std::vector<KernelTime> profiled(Decoding& decoding, torch::Device device) {
  constexpr int kSteps = 8;
  return profile_kernels(
      [&] {
        for (int i = 0; i < kSteps; ++i) decoding.step();
        synchronize(device);
      },
      kSteps);
}

DecodeSpeed advance(Decoding& decoding, int64_t position, const DecodeSpeedOptions& options) {
  const int64_t timed = std::min(kTimedSteps, position - decoding.position());
  while (decoding.position() < position - timed) decoding.step();
  const double ms = median_step_ms(decoding, timed, options.device);
  return {.position = position,
          .tokens_per_second = 1e3 * static_cast<double>(options.batch) / ms,
          .step_ms = ms};
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
  const double bandwidth = copy_bandwidth(options.device, cache_bytes(options.device));
  std::vector<DecodeSpeed> speeds;
  for (const ModelConfig& config : options.models) {
    const auto model = random_model(config, options.device);
    model->to(options.type);
    Decoding(*model, options).step();  // warms up
    Decoding decoding(*model, options);
    const auto value_bytes = static_cast<int64_t>(c10::elementSize(options.type));
    for (const int64_t position : options.positions) {
      const std::string next = fmt::format("{} {}", name_of(config.mixer), position);
      if (!options.watch(std::ssize(speeds), total, next)) return speeds;
      DecodeSpeed speed = advance(decoding, position, options);
      const DecodeBytes state =
          decode_state_bytes(config, options.source, position, value_bytes, options.cache);
      speed.mixer = name_of(config.mixer);
      speed.state_bytes = state.mixers;
      speed.source_bytes = state.source;
      speed.floor_ms = 1e3 * step_bytes(*model, options.batch, speed) / bandwidth;
      if (options.profile && position == options.positions.back()) {
        speed.kernels = profiled(decoding, options.device);
      }
      speeds.push_back(speed);
    }
  }
  return speeds;
}

std::vector<Row> rows_of(const std::vector<DecodeSpeed>& speeds) {
  std::vector<Row> rows;
  for (const DecodeSpeed& speed : speeds) {
    const std::string name = fmt::format("decode_{}_{}", speed.mixer, speed.position);
    rows.push_back({.name = name,
                    .value = speed.tokens_per_second,
                    .unit = "tokens/s",
                    .floor = speed.tokens_per_second * speed.step_ms / speed.floor_ms,
                    .ratio = speed.floor_ms / speed.step_ms});
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
