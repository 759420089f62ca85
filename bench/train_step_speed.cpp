// How long a training step takes on a GPU, and on what: paper-light-base and others on random ids,
// in bf16 with fp32 masters. `ninja train_step_speed && bin/train_step_speed --model
// paper-light-base`
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "model/presets.h"
#include "train/pace.h"
#include "train/train_step.h"

namespace convseq {
namespace {

struct Options {
  std::vector<std::string> models = {"paper-light-base", "paper-dynamic-base",
                                     "paper-transformer-base"};
  int64_t rows = 64, source = 512, target = 114;
  int steps = 20;
  bool profile = false;
  bool no_graph = false;
};

Batch random_batch(const Options& options, int64_t vocabulary) {
  const auto ids = [&](int64_t count) {
    const auto values = torch::randint(2, vocabulary, {count}, torch::kInt64);
    return std::vector<int64_t>(values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + count);
  };
  return {.rows = options.rows,
          .source_width = options.source,
          .target_width = options.target,
          .source = ids(options.rows * options.source),
          .source_lengths = std::vector<int64_t>(options.rows, options.source),
          .target = ids(options.rows * options.target),
          .target_lengths = std::vector<int64_t>(options.rows, options.target),
          .weights = {}};
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// The device's time by kernel, the longest first; names cut to what tells them apart.
void print_profile(const std::function<void()>& work) {
  using namespace torch::profiler::impl;
  using namespace torch::autograd::profiler;
  const ProfilerConfig config(ProfilerState::KINETO);
  const std::set<ActivityType> activities = {ActivityType::CPU, ActivityType::CUDA};
  prepareProfiler(config, activities);
  enableProfiler(config, activities);
  work();
  const auto result = disableProfiler();
  std::map<std::string, std::pair<double, int>> by_kernel;
  double all = 0;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA) continue;
    const double ms = static_cast<double>(event.durationNs()) / 1e6;
    auto& [time, count] = by_kernel[event.name().substr(0, 150)];
    time += ms;
    ++count;
    all += ms;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, spent] : by_kernel) order.emplace_back(spent.first, name);
  std::sort(order.rbegin(), order.rend());
  fmt::print("  device {:.2f} ms\n", all);
  for (size_t i = 0; i < std::min<size_t>(order.size(), 40); ++i) {
    const auto& [ms, name] = order[i];
    fmt::print("  {:8.3f} ms {:5}x  {}\n", ms, by_kernel[name].second, name);
  }
}

void measure(const std::string& name, const Options& options) {
  const torch::Device device = torch::kCUDA;
  Seq2Seq model(find_model_config(name));
  model.initialise(/*seed=*/1);
  model.to(device);
  MasterWeights weights(model, torch::kBFloat16);
  const auto optimizer = make_optimizer({}, weights.learning());
  const auto communicator = make_single_communicator();
  TrainStep step(model, weights, *optimizer, *communicator,
                 {.clip_norm = 1, .graph = !options.no_graph});
  const std::vector<Batch> batch = {random_batch(options, model.config().vocab_size)};
  PaceMeter meter(device, 1);
  for (int i = 0; i < 4; ++i) step.run(batch, 1e-3);
  std::vector<double> seconds;
  StepResult last;
  for (int i = 0; i < options.steps; ++i) {
    seconds.push_back(seconds_of([&] { last = step.run(batch, 1e-3); }));
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  fmt::print("{:<24} graph {}  {:7.2f} ms  {:9.0f} source tokens/s  {:.1f} GiB  loss {:.3f}\n",
             name, !options.no_graph, median * 1e3,
             static_cast<double>(last.source_tokens) / median,
             static_cast<double>(meter.whole().peak_memory_bytes) / (1 << 30), last.loss);
  if (options.profile) print_profile([&] { step.run(batch, 1e-3); });
  std::fflush(stdout);
}

}  // namespace
}  // namespace convseq

int main(int argc, char** argv) {
  convseq::Options options;
  CLI::App app("Times training steps on a GPU");
  app.add_option("--model", options.models);
  app.add_option("--rows", options.rows);
  app.add_option("--source", options.source);
  app.add_option("--target", options.target);
  app.add_option("--steps", options.steps);
  app.add_flag("--profile", options.profile, "The device's time by kernel");
  app.add_flag("--no-graph", options.no_graph, "Launch every step anew");
  CLI11_PARSE(app, argc, argv);
  for (const auto& name : options.models) convseq::measure(name, options);
}
