#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/commands.h"

namespace convseq::cli {

void add_bench(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "bench",
      "Benchmark the convolutions, a training step, fine-tuning, speed by length, decoding, or a "
      "model on a CPU");
  command->require_subcommand(1);
  add_bench_ops(*command);
  add_bench_step(*command);
  add_bench_finetune(*command);
  add_bench_length(*command);
  add_bench_decode(*command);
  add_bench_cpu(*command);
  command->footer("Example:\n  convseq bench ops --json bench/results/ops-h200.json");
}

}  // namespace convseq::cli
