#include "convseq/bench/finetune/finetune_speed.h"

#include <torch/types.h>

#include <set>

#include "convseq/base/error.h"
#include "convseq/bench/device_memory.h"
#include "convseq/bench/finetune/sst2_examples.h"
#include "convseq/bench/step_work.h"
#include "convseq/bench/timing.h"
#include "convseq/data/example_prefetcher.h"
#include "convseq/train/run/pace.h"

namespace convseq::bench {
namespace {

constexpr const char* kPeer = "bench/peer_finetune.py";

std::string name_of_row(const ModelConfig& config) {
  return fmt::format("finetune_{}_{}", name_of(config.mixer), config.d_model);
}

ExampleStream stream_of(const FinetuneBatchOptions& options, std::vector<Example> examples) {
  // As finetune() has it: only rows limit a batch.
  return {std::move(examples),
          {.plan = {.tokens = int64_t{1} << 40, .max_rows = options.rows, .seed = 1}}};
}

std::vector<Example> examples_of(const FinetuneBatchOptions& options, int64_t vocab_size) {
  return sst2_examples(options.rows * options.steps, vocab_size);
}

// Where steps are replayed, their batches are padded to few shapes; else they stay as they are.
bool pads(const TrainingModelOptions& training) {
  return training.step.graph && training.device.is_cuda();
}

// Of all examples, each without padding.
double flops_of(const ModelConfig& config, const std::vector<Example>& examples) {
  std::map<std::pair<int64_t, int64_t>, int64_t> counts;
  for (const Example& example : examples) {
    ++counts[{std::ssize(example.source), std::ssize(example.target)}];
  }
  double flops = 0;
  for (const auto& [lengths, count] : counts) {
    const Workload work{.source = lengths.first, .target = lengths.second};
    flops += static_cast<double>(count) *
             static_cast<double>(training_flops(total_flops(forward_flops(config, work))));
  }
  return flops;
}

double optimizer_bytes_of(const ModelConfig& config, torch::Dtype type) {
  const StepShape shape{.work = {.source = 1, .target = 1},
                        .element_bytes = static_cast<int64_t>(c10::elementSize(type))};
  return step_work(config, shape).bytes_of(kOptimizerPart);
}

// Every shape, until its step is captured and replayed: the timed steps are then like all later
// ones of a long run.
void warm_up(TrainingModel& trained, ExamplePrefetcher& batches,
             const FinetuneSpeedOptions& options, FinetuneSpeed& speed) {
  const int steps = pads(options.training) ? 4 : 1;
  std::map<BatchShape, Batch> first;
  int64_t positions = 0, tokens = 0, examples = 0;
  for (int64_t i = 0; i < options.batches.steps; ++i) {
    Batch batch = batches.next().batch;
    positions += batch.shape().positions();
    tokens += batch.source_tokens() + batch.target_tokens();
    examples += batch.rows - batch.padding_rows;
    first.emplace(batch.shape(), std::move(batch));
  }
  speed.shapes = std::ssize(first);
  speed.padding = 1 - static_cast<double>(tokens) / static_cast<double>(positions);
  speed.examples = static_cast<double>(examples) / static_cast<double>(options.batches.steps);
  const double begin = now_ms(options.training.device);
  for (const auto& [shape, batch] : first) {
    for (int i = 0; i < steps; ++i) trained.train(batch);
  }
  trained.finish();
  synchronize(options.training.device);
  speed.warm_up_seconds = 1e-3 * (now_ms(options.training.device) - begin);
}

void train(TrainingModel& trained, ExamplePrefetcher& batches, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) trained.train(batches.next().batch);
  trained.finish();
}

double median_step_ms(TrainingModel& trained, ExamplePrefetcher& batches,
                      const FinetuneSpeedOptions& options) {
  const torch::Device device = options.training.device;
  std::vector<double> each;
  for (int round = 0; round < options.rounds; ++round) {
    const double begin = now_ms(device);
    train(trained, batches, options.batches.steps);
    synchronize(device);
    each.push_back((now_ms(device) - begin) / static_cast<double>(options.batches.steps));
  }
  return median(std::move(each));
}

FinetuneSpeed measure(const ModelConfig& config, const FinetuneSpeedOptions& options) {
  const torch::Device device = options.training.device;
  FinetuneSpeed speed{.name = name_of_row(config), .d_model = config.d_model};
  const auto examples = examples_of(options.batches, config.vocab_size);
  speed.flops = flops_of(config, examples) / static_cast<double>(options.batches.steps);
  restart_peak_memory(device);
  {
    ExamplePrefetcher batches(
        stream_of(options.batches, examples),
        {.ladder = pads(options.training) ? std::optional(options.batches.ladder) : std::nullopt});
    TrainingModel trained(config, options.training);
    warm_up(trained, batches, options, speed);
    speed.ms = median_step_ms(trained, batches, options);
    speed.captures = trained.captures();
    speed.peak_bytes = static_cast<double>(peak_memory_bytes(device));
    if (options.profile) {
      constexpr int kSteps = 50;  // of many shapes
      speed.kernels = profile_kernels([&] { train(trained, batches, kSteps); }, kSteps);
    }
  }
  restart_peak_memory(device);  // frees the memory for the large matmul
  speed.flops_ceiling = measure_matmul_flops(device, options.training.type);
  speed.optimizer_bytes = optimizer_bytes_of(config, options.training.type);
  speed.copy_bandwidth = copy_bandwidth(device, cache_bytes(device), {.rounds = 5, .round_ms = 20});
  return speed;
}

void check(const FinetuneSpeedOptions& options) {
  std::set<std::string> names;
  for (const ModelConfig& config : options.models) {
    const std::string name = name_of_row(config);
    require(names.insert(name).second,
            "{}: two with mixer {} and d_model {}, which name the rows; measure them in separate "
            "runs",
            OptionName("models"), name_of(config.mixer), config.d_model);
    const RandomBatchOptions longest{.rows = options.batches.rows,
                                     .source = kLongestSst2Example.source,
                                     .target = kLongestSst2Example.target};
    require_step_memory(config, options.training, longest,
                        fmt::format("bench finetune: {} with {} rows of {} and {} tokens", name,
                                    longest.rows, longest.source, longest.target));
  }
}

Json to_json(const BatchShape& shape) { return {shape.rows, shape.source, shape.target}; }

}  // namespace

std::vector<FinetuneSpeed> measure_finetuning(const FinetuneSpeedOptions& options) {
  check(options);
  return measure_each(options.models, options.watch, name_of_row,
                      [&](const ModelConfig& config) { return measure(config, options); });
}

Json finetune_shapes(const FinetuneBatchOptions& options) {
  constexpr int64_t kAnyVocabulary = 32128;  // the lengths do not depend on it
  const auto shapes = stream_of(options, examples_of(options, kAnyVocabulary)).first_shapes();
  const ShapeLadder ladder(shapes, options.ladder);
  Json json = {{"batches", Json::array()}, {"padded", Json::array()}};
  for (const BatchShape& shape : shapes) {
    json["batches"].push_back(to_json(shape));
    json["padded"].push_back(to_json(ladder.fit(shape)));
  }
  return json;
}

std::map<int64_t, PeerFinetune> read_finetune_peers(const std::filesystem::path& path) {
  std::map<int64_t, PeerFinetune> best;
  for (const JsonObject& json : read_peer_lines(path, kPeer)) {
    const PeerFinetune peer{.mode = json.get<std::string>("mode"),
                            .steps_per_second = json.get<double>("steps_per_second")};
    PeerFinetune& fastest = best[json.get<int64_t>("d_model")];
    if (peer.steps_per_second > fastest.steps_per_second) fastest = peer;
  }
  return best;
}

std::vector<Row> rows_of(const FinetuneSpeed& speed, const std::map<int64_t, PeerFinetune>& peers) {
  const double floor = speed.floor_ms();
  Row steps{.name = speed.name,
            .value = speed.steps_per_second(),
            .unit = "steps/s",
            .floor = 1e3 / floor,
            .ratio = floor / speed.ms};
  if (const auto peer = peers.find(speed.d_model); peer != peers.end()) {
    steps.peer = "Hugging Face T5, " + peer->second.mode;
    steps.peer_value = peer->second.steps_per_second;
    steps.ratio = steps.value / peer->second.steps_per_second;
  }
  std::vector<Row> rows = {
      steps,
      {.name = speed.name + "_examples",
       .value = speed.examples * speed.steps_per_second(),
       .unit = "examples/s"},
      {.name = speed.name + "_ms",
       .value = speed.ms,
       .unit = "ms",
       .floor = floor,
       .ratio = speed.ms / floor},
      {.name = speed.name + "_padding", .value = speed.padding, .unit = "of all positions"},
      {.name = speed.name + "_shapes",
       .value = static_cast<double>(speed.shapes),
       .unit = "shapes"},
      {.name = speed.name + "_warm_up", .value = speed.warm_up_seconds, .unit = "s"},
      {.name = speed.name + "_peak_memory", .value = speed.peak_bytes / kGibi, .unit = "GiB"}};
  if (speed.captures.captures > 0) {
    const auto& [captures, seconds, bytes, replayed, launched] = speed.captures;
    rows.push_back({.name = speed.name + "_captures",
                    .value = static_cast<double>(captures),
                    .unit = "CUDA graphs"});
    rows.push_back({.name = speed.name + "_capture_time", .value = seconds, .unit = "s"});
    rows.push_back({.name = speed.name + "_graph_memory",
                    .value = static_cast<double>(bytes) / kGibi,
                    .unit = "GiB"});
    rows.push_back(
        {.name = speed.name + "_replayed",
         .value = static_cast<double>(replayed) / static_cast<double>(replayed + launched),
         .unit = "of all steps"});
  }
  for (const Row& row : part_rows(speed.name, speed.kernels, speed.ms)) rows.push_back(row);
  return rows;
}

}  // namespace convseq::bench
