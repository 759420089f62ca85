#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "convseq/base/enum_names.h"
#include "convseq/kernels/cpu_run.h"
#include "convseq/runtime/engine.h"

namespace convseq {

class ThreadPool;

// The arithmetic of an engine's matmuls. Norms, softmaxes, gates and residuals are fp32 in any.
enum class CpuPrecision { Stored, Fp32, Bf16, Int8 };
template <>
inline constexpr auto kEnumNames<CpuPrecision> =
    std::to_array<EnumName<CpuPrecision>>({{CpuPrecision::Stored, "stored"},
                                           {CpuPrecision::Fp32, "fp32"},
                                           {CpuPrecision::Bf16, "bf16"},
                                           {CpuPrecision::Int8, "int8"}});

struct CpuEngineOptions {
  // Stored: the type of the matrices in the model folder. Another type is converted to at loading.
  CpuPrecision precision = CpuPrecision::Stored;
  int64_t threads = 0;  // 0: one per core that this process may use
  // The threads to use instead. Engines with the same pool are used by one thread at a time.
  std::shared_ptr<ThreadPool> pool = nullptr;
  // The instruction set; default: the widest one that this machine has.
  std::optional<kernels::CpuLevel> level = std::nullopt;
  // Whether the packed weights are kept as a file in the model folder, if it is writable. Later
  // loads map this file.
  bool keeps_packed_file = true;
};

// The Engine of a model folder on a CPU, without libtorch. Its weights are packed for the CPU's
// instruction set, and processes that load the same folder share them. Results depend neither on
// the number of threads nor on the other rows of a batch. One engine is used by one thread at a
// time.
std::unique_ptr<Engine> load_cpu_engine(const std::filesystem::path& folder,
                                        const CpuEngineOptions& options = {});

}  // namespace convseq
