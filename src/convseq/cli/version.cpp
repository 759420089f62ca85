#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <thread>

#include "convseq/base/file/json_file.h"
#include "convseq/base/machine.h"
#include "convseq/base/memory.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/commit.h"
#include "convseq/cli/program.h"
#include "convseq/kernels/cpu_run.h"

namespace convseq::cli {
namespace {

// Part numbers of cores of implementer 0x41, Arm Limited.
constexpr std::pair<std::string_view, std::string_view> kArmCores[] = {
    {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"},  {"0xd0c", "Neoverse N1"},
    {"0xd40", "Neoverse V1"}, {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"},
};

// "Neoverse V1 (Arm implementer 0x41 part 0xd40)", or the numbers alone for other cores.
std::string arm_model(const std::string& implementer, const std::string& part) {
  const std::string numbers = fmt::format("Arm implementer {} part {}", implementer, part);
  for (const auto& [number, name] : kArmCores) {
    if (implementer == "0x41" && part == number) return fmt::format("{} ({})", name, numbers);
  }
  return numbers;
}

// On x86 the model name.
std::string cpu_model() {
  std::ifstream lines("/proc/cpuinfo");
  std::string implementer, part;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) return value;
    if (line.starts_with("CPU implementer")) implementer = value;
    if (line.starts_with("CPU part")) part = value;
  }
  if (part.empty()) return "unknown";
  return arm_model(implementer, part);
}

Json to_json(const kernels::CudaDevice& gpu) {
  return {{"name", gpu.name},
          {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes}};
}

Json about() {
  const CudaSupport cuda = cuda_support();
  Json gpus = Json::array();
  for (const kernels::CudaDevice& gpu : cuda.gpus) gpus.push_back(to_json(gpu));
  const std::string commit = kCommit;
  const auto libtorch = libtorch_version();
  return {{"version", CONVSEQ_VERSION},
          {"commit", commit.empty() ? Json() : Json(commit)},
          {"libtorch", libtorch ? Json(libtorch->version) : Json()},
          {"libtorch_cuda", libtorch ? Json(libtorch->has_cuda) : Json()},
          {"cuda_kernels", cuda.has_kernels},
          {"cpu",
           {{"model", cpu_model()},
            {"machine", machine_name()},
            {"threads", std::thread::hardware_concurrency()},
            {"kernels", kernels::cpu_level_name(kernels::default_cpu_level())},
            {"libtorch", libtorch ? Json(libtorch->cpu_capability) : Json()}}},
          {"gpus", gpus}};
}

void print_version(bool json) {
  const Json all = about();
  if (json) return fmt::print("{}\n", all.dump());
  const auto text = [](const Json& value) { return value.get<std::string>(); };
  fmt::print("{} {}{}\n", program_name(), text(all["version"]),
             all["commit"].is_null() ? "" : ", commit " + text(all["commit"]));
  const bool has_libtorch = !all["libtorch"].is_null();
  if (has_libtorch) {
    fmt::print("libtorch {}, with{} CUDA\n", text(all["libtorch"]),
               all["libtorch_cuda"].get<bool>() ? "" : "out");
  }
  fmt::print("CPU: {}, {} threads, instructions: {} (kernels){}\n", text(all["cpu"]["model"]),
             all["cpu"]["threads"].get<int>(), text(all["cpu"]["kernels"]),
             has_libtorch ? fmt::format(", {} (libtorch)", text(all["cpu"]["libtorch"])) : "");
  const CudaSupport cuda = cuda_support();
  fmt::print("CUDA kernels: {}\n", cuda.has_kernels ? "built in" : "not built");
  if (cuda.gpus.empty()) fmt::print("GPU: none found\n");
  for (const kernels::CudaDevice& gpu : cuda.gpus) {
    fmt::print("GPU: {}, sm_{}{}, {} multiprocessors, {}\n", gpu.name, gpu.major, gpu.minor,
               gpu.multiprocessors, short_bytes(static_cast<double>(gpu.memory_bytes)));
  }
}

}  // namespace

void add_version(CLI::App& program) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      program.add_subcommand("version", "Show the version, commit, libtorch, CPU and GPUs");
  command->add_flag("--json", *json, "Print the report as JSON");
  command->footer("Example:\n  convseq version --json");
  command->callback([json] { print_version(*json); });
}

}  // namespace convseq::cli
