#include "convseq/cli/program.h"

#include "convseq/cli/commands.h"

namespace convseq::cli {

const char* program_name() { return "convseq-lite"; }

const char* program_description() {
  return "Run, evaluate, quantize and inspect trained seq2seq models on a CPU, without libtorch.";
}

const char* program_example() { return "predict models/sst2 reviews.txt"; }

void add_program_commands(CLI::App& program) {
  add_predict(program);
  add_evaluate(program);
  add_quantize(program);
  add_inspect(program);
}

std::optional<LibtorchVersion> libtorch_version() { return std::nullopt; }

CudaSupport cuda_support() { return {}; }

void end_program(int /*exit_code*/) {}

}  // namespace convseq::cli
