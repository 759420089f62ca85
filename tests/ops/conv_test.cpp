#include "convseq/ops/conv.h"

#include "convseq/base/error.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq::ops {
using convseq::testing::check_gradients;
using convseq::testing::expect_close;
using convseq::testing::message_of;
using convseq::testing::random_tensor;
using convseq::testing::tolerance_of;

namespace {

struct Shape {
  int64_t batch, time, channels, heads, kernel, dilation;
};

// Length 1, length shorter than the kernel, one head, one head per channel, even kernels, odd
// channels.
const std::vector<Shape> kShapes = {
    {2, 9, 12, 4, 3, 1},  {1, 1, 4, 2, 7, 1},  {3, 5, 6, 1, 15, 1}, {2, 8, 5, 5, 4, 1},
    {2, 11, 21, 7, 2, 3}, {1, 17, 3, 3, 1, 1}, {2, 6, 8, 2, 4, 5},  {1, 33, 10, 5, 31, 2},
};

torch::Tensor spread_taps(const torch::Tensor& taps, int64_t channels) {  // [H,k] -> [C,1,k]
  return taps.repeat_interleave(channels / taps.size(0), 0).unsqueeze(1);
}

// Libtorch's depthwise convolution, padded by the paper's formula.
torch::Tensor by_conv1d(const torch::Tensor& x, const torch::Tensor& taps, const ConvGeometry& g) {
  const auto padded = torch::constant_pad_nd(x.transpose(1, 2), {g.left(), g.right()});
  return torch::conv1d(padded, spread_taps(taps, x.size(2)), {}, {1}, at::IntArrayRef{0},
                       {g.dilation}, x.size(2))
      .transpose(1, 2);
}

// The formula, term by term: O[i,c] = sum_j W[c,j] X[i + (j - centre) dilation, c], j = 1..k, with
// centre = ceil((k+1)/2), or k if causal.
torch::Tensor by_formula(const torch::Tensor& x, const torch::Tensor& taps, const ConvGeometry& g) {
  const auto out = torch::zeros_like(x);
  const auto in = x.accessor<double, 3>();
  auto sum = out.accessor<double, 3>();
  const auto w = taps.accessor<double, 2>();
  const int64_t group = x.size(2) / taps.size(0);
  for (int64_t b = 0; b < x.size(0); ++b) {
    for (int64_t i = 0; i < x.size(1); ++i) {
      for (int64_t c = 0; c < x.size(2); ++c) {
        for (int64_t j = 1; j <= g.kernel; ++j) {
          const auto centre =
              static_cast<int64_t>(std::ceil((static_cast<double>(g.kernel) + 1) / 2));
          const int64_t offset = g.alignment == Alignment::Centred ? j - centre : j - g.kernel;
          const int64_t from = i + offset * g.dilation;
          if (from >= 0 && from < x.size(1)) sum[b][i][c] += w[c / group][j - 1] * in[b][from][c];
        }
      }
    }
  }
  return out;
}

class ConvTable : public ::testing::TestWithParam<std::tuple<Shape, Alignment, torch::Dtype>> {
 protected:
  void SetUp() override {
    torch::manual_seed(1);
    std::tie(shape_, geometry_.alignment, dtype_) = GetParam();
    geometry_.kernel = shape_.kernel;
    geometry_.dilation = shape_.dilation;
    x_ = random_tensor({shape_.batch, shape_.time, shape_.channels}, dtype_);
    taps_ = random_tensor({shape_.heads, shape_.kernel}, torch::kFloat64);
  }

  Shape shape_{};
  ConvGeometry geometry_;
  torch::Dtype dtype_{};
  torch::Tensor x_, taps_;
};

class ConvInFloat64 : public ConvTable {};
class CausalConv : public ConvTable {};

TEST_P(ConvTable, EqualsThePapersFormula) {
  const auto expected = by_formula(x_.to(torch::kFloat64), taps_, geometry_);
  expect_close(conv(x_, taps_, {}, geometry_), expected, tolerance_of(dtype_));
}

TEST_P(ConvTable, EqualsLibtorchsDepthwiseConvolution) {
  const auto expected = by_conv1d(x_.to(torch::kFloat64), taps_, geometry_);
  expect_close(conv(x_, taps_, {}, geometry_), expected, tolerance_of(dtype_));
}

TEST_P(ConvTable, DynamicWithTheSameTapsEverywhereIsStatic) {
  const auto logits = random_tensor({shape_.heads, shape_.kernel}, dtype_);
  const auto everywhere = logits.flatten().expand({shape_.batch, shape_.time, -1});
  expect_close(dynamic_conv(x_, everywhere, {}, geometry_),
               conv(x_, tap_softmax(logits), {}, geometry_), tolerance_of(dtype_));
}

TEST_P(ConvTable, GluConvIsConvOfGlu) {
  const auto projected = random_tensor({shape_.batch, shape_.time, 2 * shape_.channels}, dtype_);
  const auto halves = projected.to(torch::kFloat64).chunk(2, -1);
  const Lengths lengths{torch::arange(shape_.batch) * (shape_.time / shape_.batch)};
  const auto gated = halves[0] * halves[1].sigmoid() * lengths.mask(shape_.time).unsqueeze(-1);
  expect_close(glu_conv(projected, taps_, lengths, geometry_), by_formula(gated, taps_, geometry_),
               tolerance_of(dtype_));
}

TEST_P(ConvInFloat64, GradientsEqualFiniteDifferences) {
  const auto projected =
      random_tensor({shape_.batch, shape_.time, 2 * shape_.channels}, dtype_).requires_grad_();
  const auto taps = taps_.clone().requires_grad_();
  const auto logits =
      random_tensor({shape_.batch, shape_.time, shape_.heads * shape_.kernel}, dtype_)
          .requires_grad_();
  const Lengths lengths{torch::full({shape_.batch}, shape_.time - 1)};
  check_gradients([&] { return glu_conv(projected, tap_softmax(taps), lengths, geometry_); },
                  {projected, taps});
  check_gradients([&] { return dynamic_conv(glu(projected, lengths), logits, {}, geometry_); },
                  {projected, logits});
}

TEST_P(CausalConv, StepsInChunksEqualTheWholeSequence) {
  const auto logits =
      random_tensor({shape_.batch, shape_.time, shape_.heads * shape_.kernel}, dtype_);
  const auto whole = conv(x_, taps_, {}, geometry_);
  const auto whole_dynamic = dynamic_conv(x_, logits, {}, geometry_);
  for (int64_t chunk : {1, 2, 3, 40}) {
    const auto zeros =
        torch::zeros({shape_.batch, geometry_.reach(), shape_.channels}, x_.options());
    ConvRing ring{zeros}, dynamic_ring{zeros.clone()};
    for (int64_t begin = 0; begin < shape_.time; begin += chunk) {
      const int64_t n = std::min(chunk, shape_.time - begin);
      expect_close(conv_step(x_.narrow(1, begin, n), taps_, geometry_, ring),
                   whole.narrow(1, begin, n), tolerance_of(dtype_));
      expect_close(dynamic_conv_step(x_.narrow(1, begin, n), logits.narrow(1, begin, n), {},
                                     geometry_, dynamic_ring),
                   whole_dynamic.narrow(1, begin, n), tolerance_of(dtype_));
    }
  }
}

const auto kAlignments = ::testing::Values(Alignment::Centred, Alignment::Causal);
const auto kTypes = ::testing::Values(torch::kFloat32, torch::kFloat64, torch::kBFloat16);
const auto kAllShapes = ::testing::ValuesIn(kShapes);

INSTANTIATE_TEST_SUITE_P(Shapes, ConvTable, ::testing::Combine(kAllShapes, kAlignments, kTypes));
INSTANTIATE_TEST_SUITE_P(Shapes, ConvInFloat64,
                         ::testing::Combine(kAllShapes, kAlignments,
                                            ::testing::Values(torch::kFloat64)));
INSTANTIATE_TEST_SUITE_P(Shapes, CausalConv,
                         ::testing::Combine(kAllShapes, ::testing::Values(Alignment::Causal),
                                            kTypes));

}  // namespace

TEST(ConvGeometry, FollowsThePapersFormula) {
  const ConvGeometry odd{.kernel = 7}, even{.kernel = 4}, two{.kernel = 2, .dilation = 3};
  EXPECT_EQ(odd.left(), 3);
  EXPECT_EQ(odd.right(), 3);
  EXPECT_EQ(even.left(), 2);  // i-2..i+1
  EXPECT_EQ(even.right(), 1);
  EXPECT_EQ(two.left(), 3);
  EXPECT_EQ(two.right(), 0);
  const ConvGeometry causal{.kernel = 5, .dilation = 2, .alignment = Alignment::Causal};
  EXPECT_EQ(causal.left(), 8);
  EXPECT_EQ(causal.right(), 0);
}

TEST(LightConv, SharesTapsOverContiguousGroups) {
  const auto x = torch::ones({1, 1, 4});
  const auto taps = torch::tensor({{2.0F}, {3.0F}});
  EXPECT_TRUE(
      torch::equal(conv(x, taps, {}, {.kernel = 1}), torch::tensor({{{2.0F, 2.0F, 3.0F, 3.0F}}})));
}

TEST(LightConv, IsNotRenormalisedAtTheEdges) {
  const auto taps = tap_softmax(torch::zeros({1, 3}));
  const auto y = conv(torch::ones({1, 3, 1}), taps, {}, {.kernel = 3}).flatten();
  expect_close(y, torch::tensor({2.0F / 3, 1.0F, 2.0F / 3}), 1e-6);
}

TEST(TapSoftmax, IsComputedInFp32ForBf16) {
  const auto logits = random_tensor({3, 9}, torch::kBFloat16);
  const auto taps = tap_softmax(logits);
  EXPECT_EQ(taps.scalar_type(), torch::kFloat32);
  expect_close(taps, torch::softmax(logits.to(torch::kFloat64), -1), 1e-6);
}

TEST(Glu, MasksPaddingWhateverItHolds) {
  auto projected = torch::ones({2, 3, 4});
  projected[0][2].fill_(std::numeric_limits<float>::infinity());
  const auto gated = glu(projected, {torch::tensor({int64_t{2}, int64_t{0}})});
  EXPECT_TRUE(gated.isfinite().all().item<bool>());
  EXPECT_EQ(gated[0][2].abs().sum().item<float>(), 0);
  EXPECT_EQ(gated[1].abs().sum().item<float>(), 0);
}

TEST(DynamicConv, DropsTapsWithoutRenormalising) {
  torch::manual_seed(3);
  const auto x = torch::ones({1, 400, 1});
  const auto logits = torch::zeros({1, 400, 1});
  const auto y = dynamic_conv(x, logits, {.softmax = true, .dropout = 0.5}, {.kernel = 1});
  // The one tap has weight 1; dropout keeps it with probability 0.5 and then doubles it.
  EXPECT_TRUE(((y == 0) | (y == 2)).all().item<bool>());
  EXPECT_NEAR(y.mean().item<double>(), 1.0, 0.2);
}

TEST(Conv, RefusesWhatItCannotDo) {
  const auto x = torch::zeros({2, 3, 6});
  const auto taps = torch::zeros({4, 3});
  EXPECT_EQ(message_of<Error>([&] { conv(x, taps, {}, {.kernel = 3}); }),
            "conv: 6 channels are not divisible by 4 heads");
  EXPECT_EQ(message_of<Error>([&] {
              conv(x, torch::zeros({2, 3}), {}, {.kernel = 5});
            }),
            "conv: 3 taps for kernel 5");
  EXPECT_EQ(message_of<Error>([&] {
              conv(x[0], torch::zeros({2, 3}), {}, {.kernel = 3});
            }),
            "conv: input has 2 dimensions; must be [batch, time, channels]");
  EXPECT_EQ(message_of<Error>([&] {
              conv(x, torch::zeros({2, 3}), {torch::zeros({5})}, {.kernel = 3});
            }),
            "conv: 5 lengths for 2 rows");
  EXPECT_EQ(message_of<Error>([&] {
              dynamic_conv(x, torch::zeros({2, 3, 7}), {}, {.kernel = 3});
            }),
            "dynamic_conv: 7 tap logits per position are not divisible by kernel 3");
}

}  // namespace convseq::ops
