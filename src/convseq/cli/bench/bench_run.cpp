#include "convseq/cli/bench/bench_run.h"

#include <cctype>

#include "convseq/base/file/json_file.h"
#include "convseq/bench/timing.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/kernels/device.h"
#include "convseq/spec/presets.h"

namespace convseq::cli {
namespace fs = std::filesystem;
namespace {

// "NVIDIA H200" -> "h200"
std::string machine_of(torch::Device device) {
  const auto gpus = kernels::cuda_devices();
  if (!device.is_cuda() || gpus.empty()) return bench::machine_name();
  std::string name = gpus[static_cast<size_t>(device.index())].name;
  if (name.starts_with("NVIDIA ")) name.erase(0, 7);
  for (char& c : name) {
    c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string command_line() {
  std::string text = read_text_file("/proc/self/cmdline");  // arguments end with '\0'
  std::string line = "convseq";
  for (size_t begin = text.find('\0') + 1; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    line += " " + text.substr(begin, end - begin);
    begin = end + 1;
  }
  return line;
}

fs::path with_suffix(fs::path path, const std::string& suffix) {
  path.replace_extension();
  path += "-" + suffix + ".svg";
  return path;
}

}  // namespace

torch::Dtype BenchFlags::type() const {
  return type_of(or_default(precision, *this, Precision::Fp32, Precision::Bf16));
}

void add_bench_flags(CLI::App& command, BenchFlags& flags) {
  add_device(command, flags.device);
  add_enum(command, "--precision", flags.precision,
           "Compute precision (default: bf16 on a GPU, fp32 on a CPU)");
  add_output_flags(command, flags);
  add_max_memory(command, flags.max_memory);
}

void add_output_flags(CLI::App& command, BenchFlags& flags) {
  command
      .add_option("--json", flags.json,
                  "JSON file for the result rows (- = standard output, instead of the table)")
      ->type_name("FILE");
  command.add_flag("--quiet", flags.quiet, "Hide progress");
}

void add_plot_flag(CLI::App& command, BenchFlags& flags, const std::string& description) {
  command.add_option("--plot", flags.plot, description + " (needs gnuplot)")->type_name("FILE.svg");
}

void add_rounds(CLI::App& command, int& rounds) {
  add_count(command, "--rounds", rounds, "Number of timings; the median is reported",
            {.max = 1'000'000});
}

std::vector<ModelConfig> BenchModels::configs(const BenchFlags& flags) const {
  std::vector<std::string> chosen = names;
  if (chosen.empty()) {
    const std::string size = device_of(flags.device).is_cuda() ? "base" : "tiny";
    for (const std::string& family : preset_families()) chosen.push_back(family + "-" + size);
  }
  std::vector<ModelConfig> configs;
  for (const std::string& name : chosen) configs.push_back(find_model_config(name, overrides));
  return configs;
}

void add_model_flags(CLI::App& command, BenchModels& models, const std::string& default_models) {
  command
      .add_option("--models,--model", models.names,
                  "Presets, config files or model folders (default: " + default_models + ")")
      ->type_name("MODEL,...")
      ->delimiter(',');
  command.add_option("--set", models.overrides, "Config override, such as --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
}

BenchRun::BenchRun(const BenchFlags& flags, std::string label,
                   const std::vector<std::string>& plots)
    : flags_(flags), label_(std::move(label)) {
  end_on_signals();
  if (!flags.plot.empty()) {
    require(flags.plot != "-", "--plot -: writes {} files; give a file name", plots.size());
    require(flags.plot.extension() == ".svg", "--plot {}: the plots are SVG; name it {}.svg",
            flags.plot.string(), flags.plot.stem().string());
    for (const std::string& suffix : plots) {
      plots_[suffix] = std::make_unique<OutputFile>(with_suffix(flags.plot, suffix));
    }
    bench::require_gnuplot("--plot");
  }
  if (!flags.json.empty()) json_.emplace(flags.json);
  bench::keep_freed_memory();
}

bench::Watch BenchRun::watch() {
  return [this](int64_t done, int64_t total, const std::string& next) {
    if (!flags_.quiet) {
      if (!progress_) {
        progress_ = std::make_unique<Progress>(
            ProgressOptions{.label = label_, .total = total, .unit = "measured"});
      }
      progress_->update(done, next);
    }
    return !interrupted();
  };
}

void BenchRun::finish(const std::vector<bench::Row>& rows,
                      const std::function<void()>& print_table) {
  progress_.reset();
  const bench::Report report{
      .command = command_line(), .machine = machine_of(device_of(flags_.device)), .rows = rows};
  if (flags_.json != "-") print_table();
  if (interrupted()) {
    const bool writes = json_.has_value() || !plots_.empty();
    throw Stopped(label_ + (writes ? ": stopped; no file was written" : ": stopped"));
  }
  if (!json_) return;
  json_->write(bench::to_json(report).dump(2) + "\n");
  json_->commit();
}

void BenchRun::draw(const std::string& suffix, const bench::Plot& plot) {
  if (flags_.plot.empty()) return;
  OutputFile& file = *plots_.at(suffix);
  file.write(bench::draw_svg(plot));
  file.commit();
}

}  // namespace convseq::cli
