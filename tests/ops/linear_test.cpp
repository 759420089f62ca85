#include "convseq/ops/linear.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "convseq/kernels/cuda/matmul/matmul_cutlass.h"
#include "convseq/ops/kernel/cuda_launch.h"
#include "convseq/ops/norm.h"
#include "convseq/ops/reference/linear.h"
#include "tensor_checks.h"

namespace convseq::ops {
namespace {

using convseq::testing::expect_close;
using convseq::testing::random_tensor;

using Op = std::function<OutputAndInput(const std::vector<torch::Tensor>&)>;

OutputAndInput linear_of(const std::vector<torch::Tensor>& in) {
  return linear_and_input(in[0], in[1]);
}

OutputAndInput feed_forward_of(const std::vector<torch::Tensor>& in) {
  return relu_feed_forward_and_input(in[0], in[1], in[2]);
}

// The output and the gradients of sum(output · gradient) + sum(input · more).
std::vector<torch::Tensor> run(const Op& op, const std::vector<torch::Tensor>& values,
                               const torch::Tensor& gradient, const torch::Tensor& more,
                               const torch::TensorOptions& options) {
  std::vector<torch::Tensor> inputs;
  for (const auto& each : values) inputs.push_back(each.to(options).detach().requires_grad_());
  const auto [output, input] = op(inputs);
  auto results =
      torch::autograd::grad({output, input}, inputs, {gradient.to(options), more.to(options)});
  results.push_back(output.detach());
  return results;
}

struct Sizes {
  int64_t rows, in, out;
};

class Linear : public ::testing::TestWithParam<Sizes> {
 protected:
  // Scaled so that outputs are near 1.
  static torch::Tensor weight(int64_t out, int64_t in) {
    return random_tensor({out, in}) / std::sqrt(static_cast<double>(in));
  }

  // x, up and down such that x · upᵀ is exact in any order and type, so that rounding never changes
  // the sign of an input of the ReLU.
  static std::vector<torch::Tensor> feed_forward(const Sizes& sizes) {
    const auto signs = [](int64_t rows, int64_t columns) {
      return 2 * torch::randint(2, {rows, columns}, torch::kFloat64) - 1;
    };
    const double scale = std::exp2(-std::round(std::log2(static_cast<double>(sizes.in)) / 2));
    return {signs(sizes.rows, sizes.in), scale * signs(sizes.out, sizes.in),
            weight(sizes.in, sizes.out)};
  }

  static void expect_equal_to_float64(const Op& op, const std::vector<torch::Tensor>& values,
                                      int64_t width, const torch::TensorOptions& options,
                                      double tolerance) {
    const auto rounded = [&](const torch::Tensor& x) { return x.to(options).cpu(); };
    std::vector<torch::Tensor> inputs;
    for (const auto& each : values) inputs.push_back(rounded(each));
    const auto& x = inputs[0];
    auto sizes = x.sizes().vec();
    const auto more = rounded(random_tensor(sizes));
    sizes.back() = width;
    // The gradient of a weight sums over all rows; this scale keeps it near 1.
    const double rows = static_cast<double>(x.numel() / x.size(-1));
    const auto gradient = rounded(random_tensor(sizes) / std::sqrt(rows));
    const auto found = run(op, inputs, gradient, more, options);
    const auto again = run(op, inputs, gradient, more, options);
    const auto expected = run(op, inputs, gradient, more, torch::kFloat64);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(torch::equal(found[i], again[i])) << i;
      expect_close(found[i], expected[i], tolerance, std::to_string(i));
    }
  }
};

TEST_P(Linear, EqualsFloat64OnACpu) {
  const auto [rows, in, out] = GetParam();
  const std::vector<torch::Tensor> values = {random_tensor({2, rows, in}), weight(out, in)};
  expect_equal_to_float64(linear_of, values, out, torch::kFloat32, 1e-5);
}

TEST_P(Linear, FeedForwardEqualsFloat64OnACpu) {
  const Sizes sizes = GetParam();
  expect_equal_to_float64(feed_forward_of, feed_forward(sizes), sizes.in, torch::kFloat32, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Linear,
                         ::testing::Values(Sizes{1, 8, 1}, Sizes{3, 7, 5}, Sizes{20, 24, 84}));

TEST(LinearPlusResidual, IsTheSum) {
  const auto x = random_tensor({3, 2, 8}), residual = random_tensor({3, 2, 8});
  const auto up = random_tensor({16, 8}), down = random_tensor({8, 16});
  expect_close(add_linear(residual, x, down.matmul(up)), x.matmul(down.matmul(up).t()) + residual,
               1e-5);
  expect_close(add_relu_feed_forward(residual, x, up, down),
               x.matmul(up.t()).relu().matmul(down.t()) + residual, 1e-5);
}

class GpuLinear : public Linear {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(5);
  }
  static torch::TensorOptions bf16() {
    return torch::TensorOptions(torch::kCUDA).dtype(torch::kBFloat16);
  }
};

TEST_P(GpuLinear, EqualsFloat64) {
  const auto [rows, in, out] = GetParam();
  const std::vector<torch::Tensor> values = {random_tensor({2, rows, in}), weight(out, in)};
  expect_equal_to_float64(linear_of, values, out, bf16(), 2e-2);
}

TEST_P(GpuLinear, TunedItEqualsFloat64) {
  const MatmulTuning tuning;
  const auto [rows, in, out] = GetParam();
  const std::vector<torch::Tensor> values = {random_tensor({2, rows, in}), weight(out, in)};
  expect_equal_to_float64(linear_of, values, out, bf16(), 2e-2);
}

TEST_P(GpuLinear, FeedForwardEqualsFloat64) {
  const Sizes sizes = GetParam();
  expect_equal_to_float64(feed_forward_of, feed_forward(sizes), sizes.in, bf16(), 4e-2);
}

// Calls CUTLASS directly, whichever algorithm tuning would choose. All rows are padded.
TEST_P(GpuLinear, CutlassEpiloguesEqualFloat64) {
  const Sizes sizes = GetParam();
  const int64_t rows = sizes.rows, in = sizes.in, out = sizes.out;
  const auto in_long_rows = [](const torch::Tensor& x) {
    const auto padded = torch::full({x.size(0), (x.size(1) + 15) / 8 * 8}, NAN, bf16());
    return padded.narrow(1, 0, x.size(1)).copy_(x);
  };
  const auto a = in_long_rows(random_tensor({rows, in})), b = in_long_rows(weight(in, out));
  const auto c = in_long_rows(random_tensor({rows, out}));
  const int64_t pitch = c.stride(0);
  for (const auto epilogue : {kernels::Epilogue::Plain, kernels::Epilogue::ReluBackward}) {
    const auto run = [&] {
      const auto y = torch::full({rows, pitch}, NAN, bf16());
      const kernels::Matmul matmul{.rows = rows,
                                   .columns = out,
                                   .inner = in,
                                   .epilogue = epilogue,
                                   .a = {a.const_data_ptr(), a.stride(0)},
                                   .b = {b.const_data_ptr(), b.stride(0)},
                                   .c = c.const_data_ptr(),
                                   .out = y.mutable_data_ptr(),
                                   .out_stride = pitch};
      if (!kernels::has_cutlass_matmul(matmul)) return torch::Tensor();
      kernels::cutlass_matmul(matmul, current_cuda_stream());
      EXPECT_TRUE(y.narrow(1, out, pitch - out).isnan().all().item<bool>());
      return y.narrow(1, 0, out).clone();
    };
    const auto y = run();
    if (!y.defined()) GTEST_SKIP() << "not supported by this build, GPU or size";
    EXPECT_TRUE(torch::equal(y, run()));
    const auto wide = [](const torch::Tensor& x) { return x.to(torch::kFloat64); };
    const auto matmul = wide(a).matmul(wide(b));
    expect_close(
        y.cpu(),
        (epilogue == kernels::Epilogue::Plain ? matmul + wide(c) : matmul * (wide(c) > 0)).cpu(),
        2e-2);
  }
}

TEST_P(GpuLinear, RowsNeedNotBeContiguous) {
  const auto [rows, in, out] = GetParam();
  const auto wide = random_tensor({rows, in + 8}).to(bf16()), w = weight(out, in).to(bf16());
  const auto narrow = wide.narrow(1, 0, in);
  const auto times_w = [&](const torch::Tensor& x) { return linear_and_input(x, w).output; };
  EXPECT_TRUE(torch::equal(times_w(narrow), times_w(narrow.contiguous())));
  const auto transposed = random_tensor({in, rows}).to(bf16()).t();
  EXPECT_TRUE(torch::equal(times_w(transposed), times_w(transposed.contiguous())));
}

// Matmuls with few rows, as in decoding, have their own kernel.
class GpuFewRows : public ::testing::TestWithParam<Sizes> {};

TEST_P(GpuFewRows, EqualTheMatmulInFloat64) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  const auto [rows, in, out] = GetParam();
  const auto x = random_tensor({rows, in}).to(torch::kBFloat16);
  const auto w =
      (random_tensor({out, in}) / std::sqrt(static_cast<double>(in))).to(torch::kBFloat16);
  const auto down = w.t().contiguous();
  const auto wide = [](const torch::Tensor& each) { return each.to(torch::kFloat64); };
  const auto expected = wide(x).matmul(wide(w).t());
  const auto y = linear_and_input(x.cuda(), w.cuda()).output;
  expect_close(y, expected, 8e-3);
  EXPECT_TRUE(torch::equal(y, linear_and_input(x.cuda(), w.cuda()).output));
  if (out % 8 != 0) return;
  const auto residual = random_tensor({rows, out}).to(torch::kBFloat16);
  expect_close(add_linear(residual.cuda(), x.cuda(), w.cuda()), expected + wide(residual), 8e-3);
  const auto hidden = wide(expected.relu().to(torch::kBFloat16));
  expect_close(relu_feed_forward_and_input(x.cuda(), w.cuda(), down.cuda()).output,
               hidden.matmul(wide(w)), 5e-2);
}

TEST_P(GpuFewRows, DoNotDependOnOtherRows) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  const auto [rows, in, out] = GetParam();
  const auto x = random_tensor({rows, in}).to(torch::kCUDA, torch::kBFloat16);
  const auto w = random_tensor({out, in}).to(torch::kCUDA, torch::kBFloat16);
  const auto y = linear_and_input(x, w).output;
  for (const int64_t row : {int64_t{0}, rows / 2, rows - 1}) {
    const auto alone = torch::full_like(x, std::numeric_limits<double>::quiet_NaN());
    alone[row].copy_(x[row]);
    EXPECT_TRUE(torch::equal(linear_and_input(alone, w).output[row], y[row])) << "row " << row;
  }
}

LayerNormParameters random_norm(int64_t channels) {
  return {.weight = (1 + random_tensor({channels}) / 4).to(torch::kBFloat16),
          .bias = random_tensor({channels}).to(torch::kBFloat16),
          .eps = 1e-6};
}

TEST(Linear, OfANormedBranchIsTheNormAfterTheMatmul) {
  torch::manual_seed(4);
  const auto x = random_tensor({3, 2, 8}), w = random_tensor({6, 8}), down = random_tensor({6, 6});
  const auto residual = random_tensor({3, 2, 6});
  const LayerNormParameters norm{random_tensor({6}), random_tensor({6}), 1e-6};
  const auto normed = [&](const torch::Tensor& y) {
    return residual + layer_norm(y, norm.weight, norm.bias, norm.eps);
  };
  expect_close(add_normed_linear(residual, x, w, norm), normed(reference::linear(x, w)), 1e-5);
  expect_close(add_normed_relu_feed_forward(residual, x, w, down, norm),
               normed(reference::relu_feed_forward(x, w, down)), 1e-5);
}

struct NormedSizes {
  Sizes sizes;
  bool rounds_between;  // the norm is a kernel of its own, after a matmul with an output in bf16
};

class GpuNormedFewRows : public ::testing::TestWithParam<NormedSizes> {};

TEST_P(GpuNormedFewRows, EqualTheNormAfterTheMatmulInFloat64) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  torch::manual_seed(4);
  const torch::NoGradGuard no_grad;
  const auto [rows, in, out] = GetParam().sizes;
  const auto x = random_tensor({rows, in}).to(torch::kBFloat16);
  const auto w = (random_tensor({out, in}) / std::sqrt(static_cast<double>(in)) + 0.02)
                     .to(torch::kBFloat16);  // whose outputs have a mean
  const auto residual = random_tensor({rows, out}).to(torch::kBFloat16);
  const LayerNormParameters norm = random_norm(out);
  const LayerNormParameters there{norm.weight.cuda(), norm.bias.cuda(), norm.eps};
  const auto wide = [](const torch::Tensor& each) { return each.to(torch::kFloat64); };
  const auto product = wide(x).matmul(wide(w).t());
  const auto expected =
      wide(residual) + at::layer_norm(product, {out}, wide(norm.weight), wide(norm.bias), norm.eps);
  // Rounding to bf16's eight bits, and what the norm makes of that.
  const auto rounding =
      product.abs() / 256 * wide(norm.weight).abs() / product.std(-1, false, true);
  const auto y = add_normed_linear(residual.cuda(), x.cuda(), w.cuda(), there);
  auto error = (wide(y.cpu()) - expected).abs();
  if (GetParam().rounds_between) error -= rounding;
  EXPECT_LE((error / (1 + expected.abs())).max().item<double>(), 4e-3);
  EXPECT_TRUE(torch::equal(y, add_normed_linear(residual.cuda(), x.cuda(), w.cuda(), there)));
  for (const int64_t row : {int64_t{0}, rows / 2, rows - 1}) {  // on no other row
    const auto alone = torch::full_like(x, std::numeric_limits<double>::quiet_NaN());
    alone[row].copy_(x[row]);
    EXPECT_TRUE(torch::equal(add_normed_linear(residual.cuda(), alone.cuda(), w.cuda(), there)[row],
                             y[row]))
        << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Gpu, GpuNormedFewRows,
    ::testing::Values(NormedSizes{{1, 512, 512}, false}, NormedSizes{{64, 512, 512}, false},
                      NormedSizes{{64, 2048, 512}, false}, NormedSizes{{64, 768, 768}, false},
                      NormedSizes{{17, 768, 768}, false}, NormedSizes{{64, 3072, 768}, true},
                      NormedSizes{{5, 776, 768}, false}, NormedSizes{{5, 1032, 768}, true},
                      NormedSizes{{37, 40, 512}, false}, NormedSizes{{65, 512, 512}, true},
                      NormedSizes{{9, 72, 256}, true}));

INSTANTIATE_TEST_SUITE_P(
    Gpu, GpuFewRows,
    ::testing::Values(Sizes{1, 8, 1}, Sizes{1, 512, 512}, Sizes{2, 40, 7}, Sizes{7, 512, 1024},
                      Sizes{16, 2048, 512}, Sizes{17, 768, 56}, Sizes{33, 3072, 768},
                      Sizes{48, 512, 2048}, Sizes{64, 512, 2048}, Sizes{37, 72, 100},
                      Sizes{64, 8, 1536}, Sizes{50, 4104, 72}, Sizes{64, 2048, 512},
                      Sizes{64, 768, 3072}, Sizes{64, 512, 512}, Sizes{48, 512, 1000},
                      Sizes{64, 512, 1536}, Sizes{64, 768, 768}, Sizes{50, 776, 1500},
                      Sizes{64, 768, 1536}, Sizes{65, 512, 512}, Sizes{1, 512, 32128},
                      Sizes{16, 512, 32128}, Sizes{64, 512, 32128}));

INSTANTIATE_TEST_SUITE_P(Gpu, GpuLinear,
                         ::testing::Values(Sizes{1, 8, 1}, Sizes{3, 7, 5}, Sizes{20, 24, 84},
                                           Sizes{1, 768, 768}, Sizes{57, 768, 84},
                                           Sizes{333, 768, 3072}, Sizes{1000, 3072, 768},
                                           Sizes{130, 1536, 250}));

}  // namespace
}  // namespace convseq::ops
