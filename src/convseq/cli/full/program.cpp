#include "convseq/cli/program.h"

#include <ATen/Version.h>
#include <torch/version.h>

#include <cstdlib>

#include "convseq/cli/commands.h"

namespace convseq::cli {

const char* program_name() { return "convseq"; }

const char* program_description() {
  return "Pre-train, fine-tune, evaluate, run and benchmark convolutional and Transformer seq2seq "
         "models.";
}

const char* program_example() { return "inspect paper-light-base"; }

void add_program_commands(CLI::App& program) {
  add_pretrain(program);
  add_finetune(program);
  add_evaluate(program);
  add_predict(program);
  add_tokenizer(program);
  add_tokenize(program);
  add_task(program);
  add_inspect(program);
  add_convert(program);
  add_quantize(program);
  add_synth(program);
  add_study(program);
  add_bench(program);
}

std::optional<LibtorchVersion> libtorch_version() {
#ifdef CONVSEQ_TORCH_CUDA
  constexpr bool kHasCuda = true;
#else
  constexpr bool kHasCuda = false;
#endif
  return LibtorchVersion{
      .version = TORCH_VERSION, .has_cuda = kHasCuda, .cpu_capability = at::get_cpu_capability()};
}

CudaSupport cuda_support() {
  return {.has_kernels = kernels::built_with_cuda(), .gpus = kernels::cuda_devices()};
}

// libtorch would unregister its thousands of operators, a quarter of the time of a short command.
void end_program(int exit_code) { std::_Exit(exit_code); }

}  // namespace convseq::cli
