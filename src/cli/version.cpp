#include <fmt/format.h>

#include "cli/commands.h"
#include "kernels/cuda_device.h"

namespace convseq::cli {
namespace {

void print_version() {
  fmt::print("convseq {}\n", CONVSEQ_VERSION);
  fmt::print("CUDA kernels: {}\n", kernels::built_with_cuda() ? "built in" : "not built");
  for (const kernels::CudaDevice& device : kernels::cuda_devices()) {
    fmt::print("GPU: {}, sm_{}{}, {} multiprocessors, {:.0f} GiB\n", device.name, device.major,
               device.minor, device.multiprocessors,
               static_cast<double>(device.memory_bytes) / (1 << 30));
  }
}

}  // namespace

void add_version(CLI::App& program) {
  program.add_subcommand("version", "What this program was built with, and the GPUs it sees")
      ->callback(print_version);
}

}  // namespace convseq::cli
