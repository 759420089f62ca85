#include "convseq/train/step/precision.h"

#include "convseq/base/error.h"

namespace convseq {
namespace {

#ifdef __aarch64__
constexpr bool kIsArm = true;
#else
constexpr bool kIsArm = false;
#endif

}  // namespace

void check_precision(torch::Device device, torch::Dtype type) {
  require(!kIsArm || !device.is_cpu() || type != torch::kBFloat16,
          "{}: is slower than fp32 on an Arm CPU; use {}, or a GPU or an x86 CPU with AVX512-BF16 "
          "or AMX",
          OptionName("precision", "bf16"), OptionName("precision", "fp32"));
}

}  // namespace convseq
