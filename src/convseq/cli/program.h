#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "convseq/kernels/device.h"

// What differs between the programs: full/program.cpp is convseq, lite/program.cpp convseq-lite,
// which answers with trained models and needs no libtorch.
namespace convseq::cli {

struct LibtorchVersion {
  std::string version;
  bool has_cuda = false;
  std::string cpu_capability;  // "AVX2"
};

struct CudaSupport {
  bool has_kernels = false;  // never in convseq-lite
  std::vector<kernels::CudaDevice> gpus;
};

const char* program_name();
const char* program_description();
const char* program_example();
void add_program_commands(CLI::App& program);
std::optional<LibtorchVersion> libtorch_version();  // none in convseq-lite
CudaSupport cuda_support();
// Called last, with all output flushed. May end the process without the exit handlers of libraries.
void end_program(int exit_code);

}  // namespace convseq::cli
