#pragma once

#include <CLI/CLI.hpp>

#include "convseq/base/enum_names.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/spec/kv_cache_type.h"

namespace convseq {

enum class DeviceChoice { Auto, Cpu, Cuda };
template <>
inline constexpr auto kEnumNames<DeviceChoice> = std::to_array<EnumName<DeviceChoice>>(
    {{DeviceChoice::Auto, "auto"}, {DeviceChoice::Cpu, "cpu"}, {DeviceChoice::Cuda, "cuda"}});

namespace cli {

CLI::Option* add_device(CLI::App& command, DeviceChoice& choice);

// Where a model answers, and how.
struct EngineChoice {
  DeviceChoice device = DeviceChoice::Auto;
  CpuPrecision precision = CpuPrecision::Stored;
  KvCacheType cache = KvCacheType::Auto;  // of generated text, on a GPU
  int64_t threads = 0;                    // 0: one per core
  // Where the program has libtorch, it computes with fp32 weights, to the last digit as in
  // training.
  bool as_in_training = true;
  bool keeps_packed_file = false;  // of a CPU's weights, in the model folder, for a quicker start
};

// --device, --precision, --kv-cache-dtype and --threads, of every command that answers with a
// model.
void add_engine_flags(CLI::App& command, EngineChoice& choice);

}  // namespace cli
}  // namespace convseq
