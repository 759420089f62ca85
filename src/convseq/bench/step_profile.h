#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/timing.h"

namespace convseq::bench {

// The parts of a training step that its kernels belong to.
enum class StepPart {
  Matmuls,
  Attention,
  Convolutions,
  Norms,
  Elementwise,
  Activations,
  Loss,
  Optimizer,
  Embedding,
  Copies,
  Other
};

}  // namespace convseq::bench

namespace convseq {

template <>
inline constexpr auto kEnumNames<bench::StepPart> = std::to_array<EnumName<bench::StepPart>>(
    {{bench::StepPart::Matmuls, "matmuls"},
     {bench::StepPart::Attention, "attention"},
     {bench::StepPart::Convolutions, "gates_and_convolutions"},
     {bench::StepPart::Norms, "norms"},
     {bench::StepPart::Elementwise, "residual_sums_and_elementwise"},
     {bench::StepPart::Activations, "activations"},
     {bench::StepPart::Loss, "loss"},
     {bench::StepPart::Optimizer, "optimizer_and_clipping"},
     {bench::StepPart::Embedding, "embedding"},
     {bench::StepPart::Copies, "copies_and_fills"},
     {bench::StepPart::Other, "other"}});

namespace bench {

StepPart part_of(std::string_view kernel);  // by its name, as the profiler gives it

struct KernelTime {
  std::string name;
  double ms = 0;  // of all launches
  int64_t launches = 0;
};

// GPU time by kernel, longest first, averaged over the `steps` steps that `work` runs. Empty on a
// CPU.
std::vector<KernelTime> profile_kernels(const Work& work, int steps);

// The time of every part, and "between_kernels": what remains of `step_ms`.
std::vector<KernelTime> by_part(const std::vector<KernelTime>& kernels, double step_ms);

// The same as rows "<step>_part_<part>", with the share of the step as ratio; none without kernels.
std::vector<Row> part_rows(const std::string& step, const std::vector<KernelTime>& kernels,
                           double step_ms);

}  // namespace bench
}  // namespace convseq
