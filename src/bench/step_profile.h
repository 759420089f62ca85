#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "bench/timing.h"

namespace convseq::bench {

// What the kernels of a training step are there for.
enum class StepPart {
  Products,
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
    {{bench::StepPart::Products, "matrix_products"},
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

struct StepProfile {
  std::vector<KernelTime> kernels;  // the longest first; none on a CPU
  double span_ms = 0;               // from the first one's start to the last one's end
};

StepProfile profile(const Work& work);

// Every part; "between_kernels", while the GPU was at work; and "host", the rest of `step_ms`.
std::vector<KernelTime> by_part(const StepProfile& profile, double step_ms);

}  // namespace bench
}  // namespace convseq
