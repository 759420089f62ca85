#include "cli/bench_run.h"

#include <fmt/format.h>

#include <cctype>

#include "base/json_file.h"
#include "bench/timing.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "kernels/cuda_device.h"
#include "model/presets.h"

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

void require_folder_of(const char* flag, const fs::path& file) {
  if (file.empty() || file == "-") return;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  require(fs::is_directory(folder), "{} {}: there is no folder {}", flag, file.string(),
          folder.string());
}

}  // namespace

torch::Dtype BenchFlags::type() const {
  return type_of(or_default(precision, *this, Precision::Fp32, Precision::Bf16));
}

void add_bench_flags(CLI::App& command, BenchFlags& flags) {
  add_device(command, flags.device);
  command
      .add_option_function<std::string>(
          "--precision",
          [&flags](const std::string& name) {
            flags.precision = enum_of_flag<Precision>("--precision", name);
          },
          fmt::format("What to compute in ({}); else bf16 on a GPU, fp32 on a CPU",
                      all_names<Precision>()))
      ->type_name("NAME");
  command.add_option("--json", flags.json,
                     "Write the rows here, as bench/results has them; -: print them, no table");
  command.add_flag("--quiet", flags.quiet, "No progress on standard error");
}

void add_plot_flag(CLI::App& command, BenchFlags& flags, const std::string& description) {
  command.add_option("--plot", flags.plot, description + " (needs gnuplot)")->type_name("FILE.svg");
}

std::vector<ModelConfig> BenchModels::configs(const BenchFlags& flags,
                                              const std::vector<std::string>& families) const {
  std::vector<std::string> chosen = names;
  if (chosen.empty()) {
    const std::string size = device_of(flags.device).is_cuda() ? "base" : "tiny";
    for (const std::string& family : families) {
      chosen.push_back(fmt::format("paper-{}-{}", family, size));
    }
  }
  std::vector<ModelConfig> configs;
  for (const std::string& name : chosen) configs.push_back(find_model_config(name, overrides));
  return configs;
}

void add_model_flags(CLI::App& command, BenchModels& models, const std::string& families) {
  command
      .add_option("--models,--model", models.names,
                  fmt::format("Presets, config files or model folders; else paper-{{{}}}, base on "
                              "a GPU, tiny on a CPU",
                              families))
      ->type_name("MODEL,...")
      ->delimiter(',');
  command.add_option("--set", models.overrides, "Override a config key: --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
}

BenchRun::BenchRun(const BenchFlags& flags, std::string label)
    : flags_(flags), label_(std::move(label)) {
  require_folder_of("--json", flags.json);
  require_folder_of("--plot", flags.plot);
  if (!flags.plot.empty()) bench::require_gnuplot("--plot");
  bench::keep_freed_memory();
  end_on_signals();
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
  if (flags_.json == "-") {
    fmt::print("{}\n", bench::to_json(report).dump(2));
  } else {
    print_table();
  }
  require(!interrupted(), "{}: interrupted; no file was written", label_);
  if (!flags_.json.empty() && flags_.json != "-") {
    write_json_file(flags_.json, bench::to_json(report));
  }
}

void BenchRun::draw(const std::string& suffix, const bench::Plot& plot) const {
  if (flags_.plot.empty()) return;
  fs::path path = flags_.plot;
  path.replace_extension();
  path += "-" + suffix + ".svg";
  bench::write_svg(path, plot);
}

}  // namespace convseq::cli
