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

// The rank of this process among those that were started together.
struct Launch {
  Launcher launcher = Launcher::None;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // rank on this machine, which selects the GPU
};

using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> process_environment(const char* name);

// The number that is the whole of a text.
std::optional<int> number_of(const std::string& text);

// Read from the environment variables of mpirun, srun or torchrun; one process if none is set.
Launch find_launch(const Environment& environment = process_environment);

}  // namespace convseq
