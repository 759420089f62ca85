#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "convseq/cli/options/engine_flags.h"
#include "convseq/train/training_run.h"

namespace convseq {

enum class Precision { Fp32, Bf16, Fp64 };
template <>
inline constexpr auto kEnumNames<Precision> = std::to_array<EnumName<Precision>>(
    {{Precision::Fp32, "fp32"}, {Precision::Bf16, "bf16"}, {Precision::Fp64, "fp64"}});

namespace cli {

torch::Dtype type_of(Precision precision);
torch::Device device_of(DeviceChoice choice, int local_rank = 0);

// The flags of every command that trains.
struct TrainingFlags {
  std::optional<Precision> precision;
  Precision usual_on_gpu = Precision::Fp32;  // where no precision is given; on a CPU it is fp32
  DeviceChoice device = DeviceChoice::Auto;
  bool fresh = false;
  bool json = false;
  const CLI::App* command = nullptr;
  CLI::Option* steps = nullptr;
  CLI::Option* schedule = nullptr;
  CLI::Option* save_every = nullptr;
  // Options whose default depends on others: options.json has them only where they were given.
  // `fresh` is of one call: options.json never has it.
  std::vector<std::string> only_if_given = {"steps", "schedule", "save-every", "precision"};
};

void add_training_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options);

// Joins the processes that were started together, if any, sees to signals, and prints what `train`
// returns, on the first process. Throws Stopped where the run can be continued.
struct TrainingReport {
  Json json;
  std::string text;
  bool stopped = false;
};
void run_training(const TrainingFlags& flags, TrainingOptions& options,
                  const std::function<TrainingReport(Communicator&)>& train);

std::string describe(const TrainingSummary& summary, const std::filesystem::path& out);

}  // namespace cli
}  // namespace convseq
