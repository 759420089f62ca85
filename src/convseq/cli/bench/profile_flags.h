#pragma once

#include <torch/types.h>

#include <CLI/CLI.hpp>

#include "convseq/bench/step_profile.h"

namespace convseq::cli {

// --profile and --longest of the commands that time training steps.
struct ProfileFlags {
  bool profile = false;
  int64_t longest = 0;  // kernels to list

  bool wanted(torch::Device device) const;  // refuses a device without a profiler
};

void add_profile_flags(CLI::App& command, ProfileFlags& flags);

void print_profile(const std::string& step, const std::vector<bench::KernelTime>& kernels,
                   double step_ms, const ProfileFlags& flags);

}  // namespace convseq::cli
