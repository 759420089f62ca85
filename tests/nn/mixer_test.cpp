#include "nn/mixer_table.h"
#include "tensor_checks.h"

namespace convseq::nn {
using convseq::testing::check_gradients;
using convseq::testing::expect_close;
using convseq::testing::find_case;
using convseq::testing::make;
using convseq::testing::mixer_cases;
using convseq::testing::MixerCase;
using convseq::testing::random_tensor;
using convseq::testing::tolerance_of;

namespace {

constexpr int64_t kChannels = 12;
const std::vector<int64_t> kTimes = {1, 2, 7, 13};  // shorter and longer than the receptive field

class MixerTable : public ::testing::TestWithParam<std::tuple<MixerCase, torch::Dtype>> {
 protected:
  void SetUp() override {
    torch::manual_seed(11);
    std::tie(case_, dtype_) = GetParam();
    tolerance_ = tolerance_of(dtype_);
  }
  torch::Tensor input(int64_t batch, int64_t time) const {
    return random_tensor({batch, time, kChannels}, dtype_);
  }

  MixerCase case_;
  torch::Dtype dtype_{};
  double tolerance_ = 0;
};

class MixerInFloat64 : public MixerTable {};

TEST_P(MixerTable, CausalOutputIgnoresTheFuture) {
  const auto mixer = make(case_, true, dtype_);
  for (int64_t time : kTimes) {
    const auto x = input(2, time);
    const auto y = mixer->forward(x, {});
    for (int64_t seen = 1; seen < time; ++seen) {
      auto changed = x.clone();
      changed.narrow(1, seen, time - seen).normal_(0, 10);
      expect_close(mixer->forward(changed, {}).narrow(1, 0, seen), y.narrow(1, 0, seen),
                   tolerance_);
    }
  }
}

TEST_P(MixerTable, PaddingChangesNeitherOutputsNorGradients) {
  for (bool causal : {false, true}) {
    const auto mixer = make(case_, causal, dtype_);
    for (int64_t time : kTimes) {
      const auto bare = input(1, time).requires_grad_();
      const auto weights = torch::randn_like(bare);
      const auto y = mixer->forward(bare, {});
      mixer->zero_grad();
      (y * weights).sum().backward();
      std::vector<torch::Tensor> expected;
      for (const auto& parameter : mixer->parameters())
        expected.push_back(parameter.grad().clone());

      // The same row in a batch, with arbitrary values as padding.
      auto padded = (input(3, time + 6) * 5).detach();
      padded[1].narrow(0, 0, time).copy_(bare.detach()[0]);
      padded.requires_grad_();
      const Lengths lengths{torch::tensor({time + 6, time, int64_t{0}})};
      const auto z =
          mixer->forward(padded, {.lengths = lengths}).narrow(0, 1, 1).narrow(1, 0, time);
      expect_close(z, y, tolerance_);
      mixer->zero_grad();
      (z * weights).sum().backward();
      const auto grad = padded.grad();
      expect_close(grad[1].narrow(0, 0, time), bare.grad()[0], tolerance_);
      EXPECT_EQ(grad[1].narrow(0, time, 6).abs().sum().item<double>(), 0)
          << "gradient leaks into padding";
      for (size_t i = 0; i < expected.size(); ++i) {
        expect_close(mixer->parameters()[i].grad(), expected[i], 4 * tolerance_);
      }
    }
  }
}

TEST_P(MixerTable, AllPaddingGivesFiniteNumbers) {
  const auto mixer = make(case_, false, dtype_);
  const auto x = input(2, 5).requires_grad_();
  const auto y = mixer->forward(x, {.lengths = {torch::zeros({2}, torch::kInt64)}});
  EXPECT_TRUE(y.isfinite().all().item<bool>());
  y.sum().backward();
  EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
}

TEST_P(MixerTable, IncrementalEqualsParallelAlsoInChunks) {
  const torch::NoGradGuard no_grad;
  const auto mixer = make(case_, true, dtype_);
  for (int64_t time : kTimes) {
    const auto x = input(2, time);
    const auto whole = mixer->forward(x, {});
    for (int64_t chunk : {1, 2, 5, 20}) {
      const auto state = mixer->start(2);
      for (int64_t begin = 0; begin < time; begin += chunk) {
        const int64_t n = std::min(chunk, time - begin);
        expect_close(mixer->step(x.narrow(1, begin, n), {}, *state), whole.narrow(1, begin, n),
                     tolerance_);
      }
    }
  }
}

TEST_P(MixerTable, StepsOfFixedCapacityEqualTheParallelPass) {
  const torch::NoGradGuard no_grad;
  const auto mixer = make(case_, true, dtype_);
  mixer->eval();
  const auto x = input(2, 9), residual = input(2, 1);
  const auto whole = mixer->forward(x, {});
  const auto state = mixer->start(2, /*capacity=*/9);
  MixerContext context{.positions = torch::zeros({2}, torch::kInt64),
                       .sum = {.residual = residual}};
  for (int64_t i = 0; i < 9; ++i) {
    expect_close(mixer->step(x.narrow(1, i, 1), context, *state), residual + whole.narrow(1, i, 1),
                 tolerance_);
    context.positions.add_(1);
  }
}

TEST_P(MixerTable, ReorderedBeamsEqualRecomputedOnes) {
  const torch::NoGradGuard no_grad;
  const auto mixer = make(case_, true, dtype_);
  const auto x = input(3, 6);
  const auto state = mixer->start(3);
  mixer->step(x, {}, *state);
  const auto rows = torch::tensor({int64_t{2}, int64_t{0}, int64_t{2}, int64_t{1}});
  state->reorder(rows);
  const auto next = input(4, 2);
  const auto whole = mixer->forward(torch::cat({x.index_select(0, rows), next}, 1), {});
  expect_close(mixer->step(next, {}, *state), whole.narrow(1, 6, 2), tolerance_);
}

TEST_P(MixerInFloat64, GradientsEqualFiniteDifferences) {
  for (bool causal : {false, true}) {
    const auto mixer = make(case_, causal, dtype_);
    const auto x = input(2, 7).requires_grad_();
    std::vector<torch::Tensor> inputs = mixer->parameters();
    inputs.push_back(x);
    const MixerContext context{.lengths = {torch::tensor({int64_t{7}, int64_t{4}})}};
    check_gradients([&] { return mixer->forward(x, context); }, inputs);
  }
}

std::string case_name(const ::testing::TestParamInfo<MixerTable::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + torch::toString(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Mixers, MixerTable,
                         ::testing::Combine(::testing::ValuesIn(mixer_cases()),
                                            ::testing::Values(torch::kFloat32, torch::kFloat64,
                                                              torch::kBFloat16)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Mixers, MixerInFloat64,
                         ::testing::Combine(::testing::ValuesIn(mixer_cases()),
                                            ::testing::Values(torch::kFloat64)),
                         case_name);

}  // namespace

TEST(StaticConv, DropsTapsOnlyInTraining) {
  MixerCase light = find_case("light");
  light.options.tap_dropout = 0.5;
  auto mixer = make(light, false, torch::kFloat32);
  const auto x = random_tensor({1, 9, kChannels});
  EXPECT_FALSE(torch::equal(mixer->forward(x, {}), mixer->forward(x, {})));
  mixer->eval();
  EXPECT_TRUE(torch::equal(mixer->forward(x, {}), mixer->forward(x, {})));
}

TEST(ConvState, HoldsReachRowsWhateverTheLength) {
  const auto mixer = make(find_case("dilated"), true, torch::kFloat32);  // kernel 5, dilation 3
  const auto state = mixer->start(2);
  const int64_t expected = 2 * (5 - 1) * 3 * kChannels * 4;
  EXPECT_EQ(state->bytes(), expected);
  for (int i = 0; i < 5; ++i) mixer->step(random_tensor({2, 9, kChannels}), {}, *state);
  EXPECT_EQ(state->bytes(), expected);
}

// The GPU gives the same results as the CPU for all shapes that it supports.
TEST(GpuMixer, EqualsTheCpu) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  for (const MixerCase& each : mixer_cases()) {
    for (auto dtype : {torch::kFloat32, torch::kBFloat16}) {
      for (bool causal : {false, true}) {
        const auto mixer = make(each, causal, torch::kFloat32);
        const auto x = random_tensor({3, 13, kChannels});
        const Lengths lengths{torch::tensor({int64_t{13}, int64_t{5}, int64_t{1}})};
        const auto expected = mixer->forward(x, {.lengths = lengths});
        mixer->to(torch::kCUDA, dtype);
        const auto y =
            mixer->forward(x.to(torch::kCUDA, dtype), {.lengths = {lengths.values.cuda()}});
        const auto real = lengths.mask(13).unsqueeze(-1);
        expect_close(y.cpu().to(torch::kFloat32) * real, expected * real,
                     dtype == torch::kFloat32 ? 1e-4 : 5e-2, each.name);
      }
    }
  }
}

}  // namespace convseq::nn
