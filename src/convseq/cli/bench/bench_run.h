#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "convseq/base/file/output_file.h"
#include "convseq/base/memory.h"
#include "convseq/base/progress.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/plot.h"
#include "convseq/bench/watch.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/spec/model_config.h"

namespace convseq::cli {

// The flags of every `convseq bench` command.
struct BenchFlags {
  DeviceChoice device = DeviceChoice::Auto;
  std::optional<Precision> precision;  // none: bf16 on a GPU, fp32 on a CPU
  std::filesystem::path json;
  std::filesystem::path plot;
  double max_memory = 0;  // bytes; 0: the free memory
  bool quiet = false;

  torch::Dtype type() const;
};

void add_bench_flags(CLI::App& command, BenchFlags& flags);
void add_output_flags(CLI::App& command, BenchFlags& flags);  // only --json and --quiet
void add_plot_flag(CLI::App& command, BenchFlags& flags, const std::string& description);
void add_rounds(CLI::App& command, int& rounds);

// The models to measure. If none is named, the preset of every mixer: tiny on a CPU, base on a GPU.
struct BenchModels {
  std::vector<std::string> names;
  std::vector<std::string> overrides;

  std::vector<ModelConfig> configs(const BenchFlags& flags) const;
};

void add_model_flags(
    CLI::App& command, BenchModels& models,
    const std::string& default_models = "the preset of every mixer, base on a GPU, tiny on a CPU");

// `given`, or the default of the device.
template <class T>
T or_default(const std::optional<T>& given, const BenchFlags& flags, T on_cpu, T on_gpu) {
  if (given) return *given;
  return device_of(flags.device).is_cuda() ? on_gpu : on_cpu;
}

// One run: opens its output files before any work, shows progress, stops on signals.
class BenchRun {
 public:
  // `plots` are the suffixes of what --plot draws: "speed" makes docs/length-speed.svg of
  // docs/length.svg.
  BenchRun(const BenchFlags& flags, std::string label, const std::vector<std::string>& plots = {});

  bench::Watch watch();
  // Prints the table, or the rows as JSON for `--json -`; writes the JSON file. A stopped run
  // prints the rows so far, writes no file and throws Stopped.
  void finish(const std::vector<bench::Row>& rows, const std::function<void()>& print_table);
  void draw(const std::string& suffix, const bench::Plot& plot);

 private:
  const BenchFlags& flags_;
  std::string label_;
  std::optional<OutputFile> json_;
  std::map<std::string, std::unique_ptr<OutputFile>> plots_;  // by suffix
  std::unique_ptr<Progress> progress_;
};

}  // namespace convseq::cli
