#pragma once

#include <functional>
#include <optional>
#include <string>

#include "convseq/base/enum_names.h"

namespace convseq {

enum class Launcher { None, Mpirun, Srun, Torchrun };

template <>
inline constexpr auto kEnumNames<Launcher> = std::to_array<EnumName<Launcher>>({
    {Launcher::None, "hand"},
    {Launcher::Mpirun, "mpirun"},
    {Launcher::Srun, "srun"},
    {Launcher::Torchrun, "torchrun"},
});

// Who this process is among those that were started together.
struct Launch {
  Launcher launcher = Launcher::None;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among those on this machine: the GPU to take
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

// From the variables that mpirun, srun or torchrun set; one process by hand where none of them did.
Launch find_launch(const Environment& environment = process_environment);

}  // namespace convseq
