#include "convseq/bench/step_speed.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/bench/device_memory.h"
#include "convseq/ops/linear.h"
#include "convseq/train/run/pace.h"

namespace convseq::bench {
namespace {

int64_t rows_for(const StepSpeedOptions& options) {
  return std::max<int64_t>(1, options.tokens / options.work.source);
}

TimedMatmul time_matmul(const Matmul& matmul, const StepSpeedOptions& options,
                        const TimingOptions& timing) {
  const auto random = [&](int64_t rows, int64_t columns) {
    return torch::randn({rows, columns}, torch::TensorOptions(options.training.device))
        .to(options.training.type);
  };
  const auto x = random(matmul.rows, matmul.in).requires_grad_();
  const auto w = random(matmul.out, matmul.in).requires_grad_();
  const auto dy = random(matmul.rows, matmul.out);
  const Work work = [&] {
    const ops::MatmulTuning tuning;
    torch::autograd::grad({ops::linear_and_input(x, w).output}, {x, w}, {dy});
  };
  const double ms = milliseconds_of(options.training.device, {work}, timing).front();
  return {.what = fmt::format("{} × {} × {}", matmul.rows, matmul.in, matmul.out),
          .count = matmul.count,
          .ms = ms * static_cast<double>(matmul.count),
          .flops = matmul.flops()};
}

// Without position bias and mask, the fastest attention of libtorch at this size.
TimedMatmul time_attention(const AttentionMatmul& matmul, const StepSpeedOptions& options,
                           const TimingOptions& timing) {
  const auto random = [&](int64_t time) {
    const auto values = torch::randn({matmul.batch, time, matmul.heads, matmul.head_channels},
                                     torch::TensorOptions(options.training.device));
    return values.to(options.training.type).transpose(1, 2).requires_grad_();
  };
  const auto q = random(matmul.queries), k = random(matmul.keys), v = random(matmul.keys);
  const auto dy = random(matmul.queries).detach();
  const Work work = [&] {
    const auto y = at::scaled_dot_product_attention(q, k, v, {}, 0, matmul.causal,
                                                    /*scale=*/1.0);
    torch::autograd::grad({y}, {q, k, v}, {dy});
  };
  const double ms = milliseconds_of(options.training.device, {work}, timing).front();
  return {.what = fmt::format("attention {} × {}{}", matmul.queries, matmul.keys,
                              matmul.causal ? ", causal" : ""),
          .count = matmul.count,
          .ms = ms * static_cast<double>(matmul.count),
          .flops = matmul.flops()};
}

void time_parts(StepSpeed& speed, const ModelConfig& config, const StepSpeedOptions& options) {
  const torch::Device device = options.training.device;
  const StepWork work = step_work(
      config, {.batch = speed.rows,
               .work = options.work,
               .element_bytes = static_cast<int64_t>(c10::elementSize(options.training.type)),
               .loss_chunk_tokens = loss_chunk_tokens(speed.rows * options.work.target, device)});
  const TimingOptions timing{.rounds = options.timing.rounds, .round_ms = 20};
  for (const Matmul& matmul : work.matmuls) {
    speed.matmuls.push_back(time_matmul(matmul, options, timing));
  }
  for (const AttentionMatmul& matmul : work.attentions) {
    speed.matmuls.push_back(time_attention(matmul, options, timing));
  }
  speed.rest_bytes = work.rest_bytes;
  speed.copy_bandwidth = copy_bandwidth(device, cache_bytes(device), timing);
}

// Several steps: an idle GPU clocks higher than a busy one.
std::vector<KernelTime> profiled(TrainingModel& trained, const Batch& batch) {
  constexpr int kSteps = 10;
  return profile_kernels(
      [&] {
        for (int i = 0; i < kSteps; ++i) trained.train(batch);
        trained.finish();
      },
      kSteps);
}

StepSpeed measure(const ModelConfig& config, const StepSpeedOptions& options) {
  const torch::Device device = options.training.device;
  const int64_t rows = rows_for(options);
  const Batch batch = random_batch(config, {.rows = rows,
                                            .source = options.work.source,
                                            .target = options.work.target,
                                            .padding = options.padding});
  StepSpeed speed{
      .name = fmt::format("train_step_{}_{}", name_of(config.mixer), options.work.source),
      .rows = rows,
      .source_tokens = batch.source_tokens()};
  speed.flops =
      static_cast<double>(rows) *
      static_cast<double>(training_flops(total_flops(forward_flops(config, options.work))));
  restart_peak_memory(device);
  {
    TrainingModel trained(config, options.training);
    speed.ms = step_milliseconds(
        device, [&] { trained.train(batch); }, options.timing);
    speed.peak_bytes = static_cast<double>(peak_memory_bytes(device));
    trained.finish();
    if (options.profile) speed.kernels = profiled(trained, batch);
  }
  restart_peak_memory(device);  // frees the memory for the matmuls
  speed.flops_ceiling = measure_matmul_flops(device, options.training.type);
  if (options.matmuls) time_parts(speed, config, options);
  return speed;
}

}  // namespace

double StepSpeed::matmuls_ms() const {
  double sum = 0;
  for (const TimedMatmul& matmul : matmuls) sum += matmul.ms;
  return sum;
}

double StepSpeed::rest_ms() const {
  double bytes = 0;
  for (const auto& [part, of_part] : rest_bytes) bytes += of_part;
  return copy_bandwidth > 0 ? 1e3 * bytes / copy_bandwidth : 0;
}

std::vector<StepSpeed> measure_steps(const StepSpeedOptions& options) {
  check_models(options.models);
  for (const ModelConfig& config : options.models) {
    const RandomBatchOptions batch{
        .rows = rows_for(options), .source = options.work.source, .target = options.work.target};
    require_step_memory(config, options.training, batch,
                        fmt::format("bench step: {} with {} rows of {} and {} tokens",
                                    name_of(config.mixer), batch.rows, batch.source, batch.target));
  }
  return measure_each(
      options.models, options.watch,
      [](const ModelConfig& config) { return std::string(name_of(config.mixer)); },
      [&](const ModelConfig& config) { return measure(config, options); });
}

std::map<std::string, PeerStep> read_peers(const std::filesystem::path& path) {
  std::map<std::string, PeerStep> best;
  for (const JsonObject& json : read_peer_lines(path, "bench/peer_step.py")) {
    const PeerStep peer{.mode = json.get<std::string>("mode"),
                        .tokens_per_second = json.get<double>("tokens_per_second"),
                        .peak_gib = json.get<double>("peak_gib")};
    PeerStep& fastest = best[json.get<std::string>("name")];
    if (peer.tokens_per_second > fastest.tokens_per_second) fastest = peer;
  }
  return best;
}

std::vector<Row> rows_of(const StepSpeed& speed, const std::map<std::string, PeerStep>& peers) {
  Row tokens{.name = speed.name, .value = speed.tokens_per_second(), .unit = "source tokens/s"};
  Row ms{.name = speed.name + "_ms", .value = speed.ms, .unit = "ms"};
  Row memory{.name = speed.name + "_peak_memory", .value = speed.peak_bytes / kGibi, .unit = "GiB"};
  std::vector<Row> parts;
  if (!speed.matmuls.empty()) {
    const double floor = speed.floor_ms();
    tokens.floor = 1e3 * static_cast<double>(speed.source_tokens) / floor;
    tokens.ratio = tokens.value / *tokens.floor;
    ms.floor = floor;
    ms.ratio = speed.ms / floor;
    parts = {{.name = speed.name + "_matmuls_ms", .value = speed.matmuls_ms(), .unit = "ms"},
             {.name = speed.name + "_rest_floor_ms", .value = speed.rest_ms(), .unit = "ms"}};
  }
  if (const auto found = peers.find(speed.name); found != peers.end()) {
    const PeerStep& peer = found->second;
    tokens.peer = "PyTorch " + peer.mode;
    tokens.peer_value = peer.tokens_per_second;
    tokens.ratio = tokens.value / peer.tokens_per_second;
    if (peer.peak_gib > 0) {
      memory.peer = tokens.peer;
      memory.peer_value = peer.peak_gib;
      memory.ratio = memory.value / peer.peak_gib;
    }
  }
  std::vector<Row> rows = {
      tokens,
      {.name = speed.name + "_examples",
       .value = 1e3 * static_cast<double>(speed.rows) / speed.ms,
       .unit = "examples/s"},
      ms,
      {.name = speed.name + "_utilisation", .value = speed.utilisation(), .unit = "of peak FLOPs"},
      memory};
  rows.insert(rows.end(), parts.begin(), parts.end());
  for (const Row& row : part_rows(speed.name, speed.kernels, speed.ms)) rows.push_back(row);
  return rows;
}

}  // namespace convseq::bench
