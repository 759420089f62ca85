#include "convseq/cli/options/engine_flags.h"

#include "convseq/cli/options/options.h"

namespace convseq::cli {

CLI::Option* add_device(CLI::App& command, DeviceChoice& choice) {
  return add_enum(command, "--device", choice, "Device (auto = a CUDA GPU if there is one)");
}

void add_engine_flags(CLI::App& command, EngineChoice& choice) {
  add_device(command, choice.device);
  add_enum(command, "--precision", choice.precision,
           "Compute precision (stored = that of the weights, on a GPU fp32; int8 only on a CPU)");
  add_enum(command, "--kv-cache-dtype", choice.cache,
           "Data type of the KV cache on a GPU (auto = the compute precision)");
  add_count(command, "--threads", choice.threads, "Number of CPU threads (0 = one per core)",
            {.min = 0, .max = kMostThreads});
}

}  // namespace convseq::cli
