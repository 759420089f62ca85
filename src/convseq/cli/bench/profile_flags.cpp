#include "convseq/cli/bench/profile_flags.h"

#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/cli/options/numbers.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {

bool ProfileFlags::wanted(torch::Device device) const {
  require(!profile || device.is_cuda(),
          "--profile: needs a GPU, but the device is {}; use --device cuda", device.str());
  return profile;
}

void add_profile_flags(CLI::App& command, ProfileFlags& flags) {
  CLI::Option* profile = command.add_flag("--profile", flags.profile,
                                          "Profile more steps: GPU time by part of the step");
  add_count(command, "--longest", flags.longest,
            "Number of longest kernels to list from the profile", {.max = kMostRows})
      ->default_str("")
      ->needs(profile);
}

void print_profile(const std::string& step, const std::vector<bench::KernelTime>& kernels,
                   double step_ms, const ProfileFlags& flags) {
  constexpr size_t kWidth = 130;
  if (kernels.empty()) {
    return fmt::print("\n{}: the profiler recorded no kernels; is CUPTI installed?\n", step);
  }
  fmt::print("\n{}\n  {:<32} {:>9} {:>7} {:>9}\n", step, "GPU time", "ms", "of step", "launches");
  for (const bench::KernelTime& part : bench::by_part(kernels, step_ms)) {
    fmt::print("  {:<32} {:>9.3f} {:>6.1f}% {:>9}\n", part.name, part.ms, 100 * part.ms / step_ms,
               part.launches);
  }
  int64_t left = flags.longest;
  for (const bench::KernelTime& kernel : kernels) {
    if (left-- <= 0) break;
    fmt::print("  {:>9.3f} ms {:>5}×  {}\n", kernel.ms, kernel.launches,
               kernel.name.substr(0, kWidth));
  }
}

}  // namespace convseq::cli
