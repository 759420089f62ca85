#include "convseq/bench/step_profile.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace convseq::bench {
namespace {

struct Named {
  const char* kernel;
  StepPart part;
};

// Kernel names as the profiler reports them, shortened.
const Named kKernels[] = {
    {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", StepPart::Matmuls},
    {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align2>(",
     StepPart::Matmuls},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>(",
     StepPart::Matmuls},
    {"fmha_cutlassB_bf16_aligned_64x64_k64_seqaligned_sm80(PyTorchMemEffAttention::",
     StepPart::Attention},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1",
     StepPart::Attention},
    {"void cudnn::fusion::convert_dq_to_16bits<true>(void const*, void*, unsigned int",
     StepPart::Attention},
    {"void convseq::kernels::(anonymous namespace)::band_backward_kernel<true, 2>(convseq::",
     StepPart::Convolutions},
    {"void convseq::kernels::(anonymous namespace)::glu_forward_kernel<__nv_bfloat16, 8>(",
     StepPart::Convolutions},
    {"void convseq::kernels::(anonymous namespace)::dynamic_forward_kernel<__nv_bfloat16, 7>(",
     StepPart::Convolutions},
    {"void convseq::kernels::(anonymous namespace)::conv_backward_any_kernel<float>(",
     StepPart::Convolutions},
    {"convseq::kernels::(anonymous namespace)::sum_partials_kernel(float const*",
     StepPart::Convolutions},
    {"void convseq::kernels::(anonymous namespace)::backward_kernel<__nv_bfloat16, true, 3>(convseq"
     "::kernels::(anonymous namespace)::Backward<__nv_bfloat16>)",
     StepPart::Norms},
    {"void convseq::kernels::(anonymous namespace)::sum_kernel<__nv_bfloat16>(float const*, int",
     StepPart::Norms},
    {"void convseq::kernels::(anonymous namespace)::few_rows_matmul_kernel<4, 1, 8>(convseq::",
     StepPart::Matmuls},
    {"void convseq::kernels::(anonymous namespace)::general_sums_kernel<float, true>(",
     StepPart::Norms},
    {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16",
     StepPart::Norms},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float",
     StepPart::Norms},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>,"
     " std::array<char*, 3ul> >(int",
     StepPart::Elementwise},
    {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
     "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >(",
     StepPart::Elementwise},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::"
     "launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar",
     StepPart::Activations},
    {"void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, "
     "c10::BFloat16, c10::BFloat16, at::native::(anonymous namespace)::threshold_kernel_impl<c10::",
     StepPart::Activations},
    {"void convseq::kernels::(anonymous namespace)::cross_entropy_kernel<__nv_bfloat16, 4>(",
     StepPart::Loss},
    {"convseq::kernels::(anonymous namespace)::adamw_kernel(convseq::kernels::(anonymous namespace)"
     "::Tensors, convseq::kernels::AdamWOptions",
     StepPart::Optimizer},
    {"convseq::kernels::(anonymous namespace)::sums_kernel(convseq::kernels::(anonymous namespace)",
     StepPart::Optimizer},
    {"convseq::kernels::(anonymous namespace)::decide_kernel(convseq::", StepPart::Optimizer},
    {"void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>(long const*",
     StepPart::Embedding},
    {"void at::native::(anonymous namespace)::sum_and_scatter<c10::BFloat16, long>(long const*",
     StepPart::Embedding},
    {"void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<at_cuda_detail::",
     StepPart::Embedding},
    {"Memset (Unknown)", StepPart::Copies},
    {"Memcpy HtoD (Pinned -> Device)", StepPart::Copies},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<unsigned char>,",
     StepPart::Copies},
    {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
     "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda",
     StepPart::Copies},
    {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16", StepPart::Other},
    {"", StepPart::Other}};

}  // namespace

TEST(StepProfile, AKernelsNameTellsItsPart) {
  for (const auto& [kernel, part] : kKernels) {
    EXPECT_EQ(name_of(part_of(kernel)), name_of(part)) << kernel;
  }
}

TEST(StepProfile, PartsAndWhatIsBetweenThemAddUpToTheStep) {
  const std::vector<KernelTime> kernels = {{.name = "nvjet_a", .ms = 5, .launches = 2},
                                           {.name = "nvjet_b", .ms = 3, .launches = 1},
                                           {.name = "who knows", .ms = 1, .launches = 4}};
  const auto parts = by_part(kernels, 10);
  EXPECT_EQ(parts.front().name, "matmuls");
  EXPECT_EQ(parts.front().ms, 8);
  EXPECT_EQ(parts.front().launches, 3);
  EXPECT_EQ(parts.back().name, "between_kernels");
  double sum = 0;
  for (const KernelTime& part : parts) sum += part.ms;
  EXPECT_DOUBLE_EQ(sum, 10);
}

TEST(StepProfile, ACpuHasNoKernels) {
  EXPECT_TRUE(profile_kernels([] { torch::ones({4}).add(1); }, 1).empty());
}

}  // namespace convseq::bench
