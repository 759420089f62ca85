#include "convseq/bench/step_profile.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

namespace convseq::bench {
namespace {

struct Rule {
  std::string_view text;  // a substring of the kernel name
  StepPart part;
};

// The first rule that matches applies.
constexpr Rule kOwnKernels[] = {
    {"general_", StepPart::Norms},
    {"adamw", StepPart::Optimizer},
    {"sums_kernel", StepPart::Optimizer},
    {"scales_kernel", StepPart::Optimizer},
    {"decide_kernel", StepPart::Optimizer},
    {"cross_entropy", StepPart::Loss},
    {"few_rows_matmul", StepPart::Matmuls},
    {"embedding", StepPart::Embedding},
    {"attention", StepPart::Attention},
    {"bias", StepPart::Attention},
    {"relu", StepPart::Activations},
    {"band_", StepPart::Convolutions},
    {"conv_", StepPart::Convolutions},
    {"direct_", StepPart::Convolutions},
    {"dynamic_", StepPart::Convolutions},
    {"glu_", StepPart::Convolutions},
    {"tile_", StepPart::Convolutions},
    {"sum_partials", StepPart::Convolutions},
    {"tap_", StepPart::Convolutions},
    {"forward_kernel", StepPart::Norms},
    {"backward_kernel", StepPart::Norms},
    {"sum_kernel", StepPart::Norms},
    {"norm", StepPart::Norms},
};

// Kernels of CUDA's libraries and of libtorch.
constexpr Rule kOtherKernels[] = {
    {"fmha", StepPart::Attention},
    {"sdpa", StepPart::Attention},
    {"cudnn::fusion", StepPart::Attention},
    {"flash", StepPart::Attention},
    {"nvjet", StepPart::Matmuls},
    {"gemm", StepPart::Matmuls},
    {"gemv", StepPart::Matmuls},
    {"cutlass", StepPart::Matmuls},
    {"cublas", StepPart::Matmuls},
    {"splitKreduce", StepPart::Matmuls},
    {"layer_norm", StepPart::Norms},
    {"GammaBeta", StepPart::Norms},
    {"RowwiseMoments", StepPart::Norms},
    {"threshold", StepPart::Activations},
    {"relu", StepPart::Activations},
    {"clamp", StepPart::Activations},
    {"Gelu", StepPart::Activations},
    {"cross_entropy", StepPart::Loss},
    {"nll_loss", StepPart::Loss},
    {"LogSoftMax", StepPart::Loss},
    {"multi_tensor_apply", StepPart::Optimizer},
    {"embedding", StepPart::Embedding},
    {"compute_grad_weight", StepPart::Embedding},
    {"sum_and_scatter", StepPart::Embedding},
    {"segment", StepPart::Embedding},
    {"indexSelect", StepPart::Embedding},
    {"gather", StepPart::Embedding},
    {"cub::", StepPart::Embedding},  // the gradient's rows are sorted by their ids
    {"thrust::", StepPart::Embedding},
    {"Memset", StepPart::Copies},
    {"Memcpy", StepPart::Copies},
    {"FillFunctor", StepPart::Copies},
    {"CatArray", StepPart::Copies},
    {"copy_kernel", StepPart::Copies},
    {"elementwise_kernel", StepPart::Elementwise},
};

StepPart first_match(std::span<const Rule> rules, std::string_view name) {
  for (const Rule& rule : rules) {
    if (name.find(rule.text) != std::string_view::npos) return rule.part;
  }
  return StepPart::Other;
}

// "void convseq::kernels::(anonymous namespace)::glu_forward_kernel<float, 8>(GluShape, …)" is
// glu_forward_kernel; argument types are ignored. Empty for a kernel of another project.
std::string_view own_function(std::string_view kernel) {
  constexpr std::string_view kVoid = "void ", kNameless = "(anonymous namespace)::";
  if (kernel.starts_with(kVoid)) kernel.remove_prefix(kVoid.size());
  if (!kernel.starts_with("convseq::")) return {};
  for (;;) {
    const size_t end = std::min(kernel.find_first_of("<(:"), kernel.size());
    if (!kernel.substr(end).starts_with("::")) return kernel.substr(0, end);
    kernel.remove_prefix(end + 2);
    if (kernel.starts_with(kNameless)) kernel.remove_prefix(kNameless.size());
  }
}

}  // namespace

StepPart part_of(std::string_view kernel) {
  const std::string_view own = own_function(kernel);
  return own.empty() ? first_match(kOtherKernels, kernel) : first_match(kOwnKernels, own);
}

std::vector<KernelTime> profile_kernels(const Work& work, int steps) {
  using torch::profiler::impl::ActivityType;
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  const std::set<ActivityType> activities = {ActivityType::CPU, ActivityType::CUDA};
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities);
  work();
  const auto result = torch::autograd::profiler::disableProfiler();
  std::map<std::string, KernelTime> by_name;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA) continue;
    KernelTime& kernel = by_name[event.name()];
    kernel.ms += static_cast<double>(event.durationNs()) / 1e6;
    kernel.launches += 1;
  }
  std::vector<KernelTime> kernels;
  for (const auto& [name, all] : by_name) {
    kernels.push_back(
        {.name = name,
         .ms = all.ms / steps,
         .launches = static_cast<int64_t>(std::llround(all.launches / double(steps)))});
  }
  std::sort(kernels.begin(), kernels.end(),
            [](const KernelTime& a, const KernelTime& b) { return a.ms > b.ms; });
  return kernels;
}

std::vector<KernelTime> by_part(const std::vector<KernelTime>& kernels, double step_ms) {
  std::vector<KernelTime> parts;
  for (const auto& [part, name] : kEnumNames<StepPart>)
    parts.push_back({.name = std::string(name)});
  double busy_ms = 0;
  for (const KernelTime& kernel : kernels) {
    KernelTime& part = parts[static_cast<size_t>(part_of(kernel.name))];
    part.ms += kernel.ms;
    part.launches += kernel.launches;
    busy_ms += kernel.ms;
  }
  parts.push_back({.name = "between_kernels", .ms = step_ms - busy_ms});
  return parts;
}

std::vector<Row> part_rows(const std::string& step, const std::vector<KernelTime>& kernels,
                           double step_ms) {
  std::vector<Row> rows;
  if (kernels.empty()) return rows;
  for (const KernelTime& part : by_part(kernels, step_ms)) {
    rows.push_back({.name = fmt::format("{}_part_{}", step, part.name),
                    .value = part.ms,
                    .unit = "ms",
                    .ratio = part.ms / step_ms});
  }
  return rows;
}

}  // namespace convseq::bench
