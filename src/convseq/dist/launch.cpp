#include "convseq/dist/launch.h"

#include <charconv>
#include <cstdlib>

#include "convseq/base/error.h"

namespace convseq {
namespace {

struct Variables {
  Launcher launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
};

// torchrun comes first: it may itself have been started by srun, once per machine.
constexpr Variables kVariables[] = {
    {Launcher::Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {Launcher::Mpirun, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK"},
    {Launcher::Srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

int number(const char* name, const std::string& text) {
  const auto value = number_of(text);
  require(value && *value >= 0, "{} is \"{}\"; allowed: a whole number", name, text);
  return *value;
}

}  // namespace

std::optional<int> number_of(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::string> process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

Launch find_launch(const Environment& environment) {
  for (const Variables& names : kVariables) {
    const auto rank = environment(names.rank), size = environment(names.size);
    if (!rank || !size) continue;
    const auto local_rank = environment(names.local_rank);
    const Launch launch{.launcher = names.launcher,
                        .rank = number(names.rank, *rank),
                        .size = number(names.size, *size),
                        .local_rank = local_rank ? number(names.local_rank, *local_rank) : 0};
    require(launch.rank < launch.size, "{} is {} and {} is {}: the rank must be below the size",
            names.rank, launch.rank, names.size, launch.size);
    return launch;
  }
  return {};
}

}  // namespace convseq
