#include "convseq/bench/length_speed.h"

#include <torch/types.h>

#include <algorithm>
#include <map>

#include "convseq/bench/device_memory.h"
#include "convseq/spec/mixer_description.h"
#include "convseq/train/run/pace.h"
#include "convseq/train/step/model_batch.h"

namespace convseq::bench {
namespace {

constexpr double kFlatGoal = 0.9;
constexpr int64_t kFlatFrom = 512, kFlatTo = 8192;

int64_t rows_at(int64_t length, const LengthSpeedOptions& options) {
  return std::max<int64_t>(1, options.tokens / length);
}

LengthPart measure_part(torch::Device device, double flops, const Work& work,
                        const TimingOptions& timing) {
  LengthPart part{.flops = flops};
  restart_peak_memory(device);
  try {
    part.ms = step_milliseconds(device, work, timing);
    part.peak_bytes = static_cast<double>(peak_memory_bytes(device));
  } catch (const c10::OutOfMemoryError&) {
    part.fits = false;
  }
  return part;
}

double encoder_flops(const NamedCounts& parts) {
  NamedCounts own;
  for (const auto& part : parts) {
    if (part.first.starts_with("encoder")) own.push_back(part);
  }
  return static_cast<double>(training_flops(total_flops(own)));
}

LengthSpeed measure(TrainingModel& trained, int64_t length, double flops_ceiling,
                    const LengthSpeedOptions& options) {
  const ModelConfig& config = trained.model().config();
  const int64_t rows = rows_at(length, options);
  const Workload work = work_at(length);
  const Batch batch =
      random_batch(config, {.rows = rows, .source = work.source, .target = work.target});
  const auto source = to_model_batch(batch, config, options.training.device).source;
  const NamedCounts flops = forward_flops(config, work);
  const double of_step = static_cast<double>(training_flops(total_flops(flops)));
  const auto all_rows = static_cast<double>(rows);
  LengthSpeed speed{.mixer = std::string(name_of(config.mixer)),
                    .length = length,
                    .rows = rows,
                    .flops_ceiling = flops_ceiling};
  TimingOptions uncaptured = options.timing;
  uncaptured.warm_ups = TimingOptions{}.warm_ups;
  const torch::Device device = options.training.device;
  speed.encoder = measure_part(
      device, all_rows * encoder_flops(flops), [&] { trained.train_encoder(source); }, uncaptured);
  speed.step = measure_part(
      device, all_rows * of_step, [&] { trained.train(batch); }, options.timing);
  return speed;
}

std::vector<Row> rows_of(const LengthSpeed& speed, const char* what, const LengthPart& part) {
  const std::string name = fmt::format("{}_{}_{}", what, speed.mixer, speed.length);
  const auto rows = static_cast<double>(speed.rows);
  std::vector<Row> result = {
      {.name = name + "_flops", .value = part.flops / rows / 1e12, .unit = "TFLOP per example"}};
  if (!part.fits) return result;
  result.push_back(
      {.name = name, .value = speed.tokens_per_second(part), .unit = "source tokens/s"});
  result.push_back(
      {.name = name + "_examples", .value = speed.examples_per_second(part), .unit = "examples/s"});
  result.push_back(
      {.name = name + "_utilisation", .value = speed.utilisation(part), .unit = "of peak FLOPs"});
  result.push_back(
      {.name = name + "_peak_memory", .value = part.peak_bytes / kGibi, .unit = "GiB"});
  return result;
}

// The slowest as a share of the fastest, from 512 to 8192: 1 is flat.
std::optional<Row> flat_row(const std::string& name, const std::vector<double>& speeds,
                            bool has_goal = true) {
  if (speeds.size() < 2) return std::nullopt;
  const auto [low, high] = std::minmax_element(speeds.begin(), speeds.end());
  const double share = *low / *high;
  Row row{.name = name, .value = share, .unit = kFlatnessUnit};
  if (has_goal) {
    row.floor = kFlatGoal;
    row.ratio = share / kFlatGoal;
  }
  return row;
}

std::vector<Row> flat_rows(const std::vector<LengthSpeed>& speeds) {
  std::map<std::string, std::vector<double>> encoder, step;
  for (const LengthSpeed& speed : speeds) {
    if (speed.length < kFlatFrom || speed.length > kFlatTo) continue;
    if (speed.encoder.fits) {
      encoder[speed.mixer].push_back(speed.tokens_per_second(speed.encoder));
    }
    if (speed.step.fits) step[speed.mixer].push_back(speed.utilisation(speed.step));
  }
  std::vector<Row> rows;
  for (const auto& [mixer, values] : encoder) {
    // Attention is quadratic in the length: no goal for its tokens per second.
    const bool has_goal = !description_of(enum_from_name<MixerKind>(mixer).value()).attends;
    if (auto row = flat_row("encoder_" + mixer + "_flatness_of_tokens", values, has_goal)) {
      rows.push_back(*row);
    }
  }
  for (const auto& [mixer, values] : step) {
    if (auto row = flat_row("step_" + mixer + "_flatness_of_flops", values)) rows.push_back(*row);
  }
  return rows;
}

template <class Value>
void add_series(Plot& plot, const std::vector<LengthSpeed>& speeds, const std::string& suffix,
                bool dashed, LengthPart LengthSpeed::*part, Value value) {
  std::map<std::string, Series> by_mixer;
  std::vector<std::string> order;
  for (const LengthSpeed& speed : speeds) {
    if (!(speed.*part).fits) continue;
    const auto [series, added] = by_mixer.try_emplace(speed.mixer);
    if (added) {
      order.push_back(speed.mixer);
      series->second = {.title = speed.mixer + suffix,
                        .colour = static_cast<int>(order.size()),
                        .dashed = dashed};
    }
    series->second.points.emplace_back(static_cast<double>(speed.length),
                                       value(speed, speed.*part));
  }
  for (const std::string& mixer : order) plot.series.push_back(by_mixer[mixer]);
}

}  // namespace

Workload work_at(int64_t length) {
  const Workload usual;
  return {.source = length, .target = std::max<int64_t>(1, length * usual.target / usual.source)};
}

std::vector<LengthSpeed> measure_lengths(const LengthSpeedOptions& options) {
  check_models(options.models);
  for (const ModelConfig& config : options.models) {
    for (const int64_t length : options.lengths) {
      const Workload work = work_at(length);
      require_step_memory(
          config, options.training,
          {.rows = rows_at(length, options), .source = work.source, .target = work.target},
          fmt::format("bench length: {} at length {}", name_of(config.mixer), length));
    }
  }
  const int64_t total = std::ssize(options.models) * std::ssize(options.lengths);
  const double ceiling = measure_matmul_flops(options.training.device, options.training.type);
  std::vector<LengthSpeed> speeds;
  for (const ModelConfig& config : options.models) {
    TrainingModel trained(config, options.training);
    for (const int64_t length : options.lengths) {
      const std::string next = fmt::format("{} {}", name_of(config.mixer), length);
      if (!options.watch(std::ssize(speeds), total, next)) return speeds;
      speeds.push_back(measure(trained, length, ceiling, options));
    }
  }
  return speeds;
}

std::vector<Row> rows_of(const std::vector<LengthSpeed>& speeds) {
  std::vector<Row> rows;
  for (const LengthSpeed& speed : speeds) {
    for (Row& row : rows_of(speed, "encoder", speed.encoder)) rows.push_back(std::move(row));
    for (Row& row : rows_of(speed, "step", speed.step)) rows.push_back(std::move(row));
  }
  for (Row& row : flat_rows(speeds)) rows.push_back(std::move(row));
  return rows;
}

Plot speed_plot(const std::vector<LengthSpeed>& speeds) {
  Plot plot{.x_label = "source length (tokens)", .y_label = "examples per second"};
  const auto value = [](const LengthSpeed& speed, const LengthPart& part) {
    return speed.examples_per_second(part);
  };
  add_series(plot, speeds, "", false, &LengthSpeed::step, value);
  add_series(plot, speeds, ", encoder alone", true, &LengthSpeed::encoder, value);
  return plot;
}

Plot flops_plot(const std::vector<LengthSpeed>& speeds) {
  Plot plot{.x_label = "source length (tokens)", .y_label = "TFLOP per example, training step"};
  const auto value = [](const LengthSpeed& speed, const LengthPart& part) {
    return part.flops / static_cast<double>(speed.rows) / 1e12;
  };
  add_series(plot, speeds, "", false, &LengthSpeed::step, value);
  add_series(plot, speeds, ", encoder alone", true, &LengthSpeed::encoder, value);
  return plot;
}

}  // namespace convseq::bench
