#include "convseq/train/step/token_loss.h"

#include <torch/nn/functional.h>

#include "convseq/base/error.h"
#include "convseq/model/seq2seq.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
using testing::check_gradients;
using testing::expect_close;
using testing::message_of;
using testing::random_tensor;

namespace {

constexpr int64_t kTokens = 23, kChannels = 5, kVocabulary = 11;

struct LossCase {
  std::string name;
  TokenLossOptions options;
};

const std::vector<LossCase> kCases = {
    {"plain", {}},
    {"scaled", {.output_scale = 0.4}},
    {"smoothed", {.output_scale = 1.5, .label_smoothing = 0.1}},
    {"z_loss", {.output_scale = 1.5, .z_loss = 0.01}},
    {"all", {.output_scale = 0.7, .label_smoothing = 0.2, .z_loss = 0.05}},
};

struct Inputs {
  explicit Inputs(torch::Dtype type) {
    hidden = random_tensor({kTokens, kChannels}, type).requires_grad_();
    matrix = random_tensor({kVocabulary, kChannels}, type).requires_grad_();
    labels = torch::randint(kVocabulary, {kTokens}, torch::kInt64);
    labels.slice(0, 0, kTokens, 3).fill_(kIgnoredLabel);
  }
  TokenLoss loss(const TokenLossOptions& options) const {
    return token_loss(hidden, matrix, labels, options);
  }
  std::vector<torch::Tensor> gradients(const torch::Tensor& loss) const {
    return torch::autograd::grad({loss}, {hidden, matrix});
  }

  torch::Tensor hidden, matrix, labels;
};

// The same sums from all logits with libtorch's cross-entropy, in float64.
TokenLoss by_libtorch(const Inputs& in, const TokenLossOptions& options) {
  namespace F = torch::nn::functional;
  const auto logits = options.output_scale *
                      in.hidden.to(torch::kFloat64).matmul(in.matrix.to(torch::kFloat64).t());
  const auto real = in.labels != kIgnoredLabel;
  const auto sum = [&](double smoothing) {
    return F::cross_entropy(
        logits, in.labels,
        F::CrossEntropyFuncOptions().reduction(torch::kSum).label_smoothing(smoothing));
  };
  const auto z_loss = options.z_loss * (logits.logsumexp(1).square() * real).sum();
  return {.loss_sum = sum(options.label_smoothing) + z_loss,
          .nll_sum = sum(0),
          .z_loss_sum = z_loss,
          .correct = ((logits.argmax(1) == in.labels) & real).sum(),
          .tokens = real.sum()};
}

class TokenLossTable
    : public ::testing::TestWithParam<std::tuple<LossCase, torch::Dtype, int64_t>> {
 protected:
  void SetUp() override { torch::manual_seed(5); }
  TokenLossOptions options() const {
    auto options = std::get<0>(GetParam()).options;
    options.chunk_tokens = std::get<2>(GetParam());
    return options;
  }
  torch::Dtype type() const { return std::get<1>(GetParam()); }
};

TEST_P(TokenLossTable, EqualsLibtorchsCrossEntropyInValueAndGradients) {
  const Inputs in(type());
  const auto loss = in.loss(options()), expected = by_libtorch(in, options());
  const double tolerance = type() == torch::kFloat64 ? 1e-13 : 1e-6;
  expect_close(loss.loss_sum, expected.loss_sum, tolerance, "loss");
  expect_close(loss.nll_sum, expected.nll_sum, tolerance, "nll");
  expect_close(loss.z_loss_sum, expected.z_loss_sum, tolerance, "z-loss");
  EXPECT_EQ(loss.correct.item<int64_t>(), expected.correct.item<int64_t>());
  EXPECT_EQ(loss.tokens.item<int64_t>(), expected.tokens.item<int64_t>());

  const auto gradients = in.gradients(loss.loss_sum / 7);
  const auto wanted = in.gradients(expected.loss_sum / 7);
  for (size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_EQ(gradients[i].scalar_type(), type());
    // A gradient in bf16 is rounded once, at the end.
    expect_close(gradients[i], wanted[i], type() == torch::kBFloat16 ? 1e-2 : tolerance,
                 "gradient " + std::to_string(i));
  }
}

TEST_P(TokenLossTable, IgnoredTargetsGiveNoGradient) {
  const Inputs in(type());
  const auto gradient = in.gradients(in.loss(options()).loss_sum)[0];
  EXPECT_EQ(gradient.index({in.labels == kIgnoredLabel}).abs().sum().item<double>(), 0);
}

TEST_P(TokenLossTable, NothingToLearnFromABatchOfIgnoredTargets) {
  Inputs in(type());
  in.labels.fill_(kIgnoredLabel);
  const auto loss = in.loss(options());
  for (const auto& sum :
       {loss.loss_sum, loss.nll_sum, loss.z_loss_sum, loss.correct, loss.tokens}) {
    EXPECT_EQ(sum.item<double>(), 0);
  }
  for (const auto& gradient : in.gradients(loss.loss_sum)) {
    EXPECT_EQ(gradient.abs().sum().item<double>(), 0);
  }
}

std::string case_name(const ::testing::TestParamInfo<TokenLossTable::ParamType>& info) {
  const auto& [each, type, chunk] = info.param;
  return each.name + "_" + torch::toString(type) + "_" + std::to_string(chunk);
}

INSTANTIATE_TEST_SUITE_P(Losses, TokenLossTable,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(torch::kFloat32, torch::kFloat64,
                                                              torch::kBFloat16),
                                            ::testing::Values(1, 7, kTokens, 1000)),
                         case_name);

TEST(TokenLoss, WeighsEachTarget) {
  namespace F = torch::nn::functional;
  const Inputs in(torch::kFloat64);
  const auto weights = torch::rand({kTokens}, torch::kFloat64) * 3;
  const auto logits = in.hidden.matmul(in.matrix.t());
  const auto each =
      F::cross_entropy(logits, in.labels, F::CrossEntropyFuncOptions().reduction(torch::kNone));
  const auto expected = (each * weights).sum();
  for (const int64_t chunk : {4, 100}) {
    const TokenLoss loss = in.loss({.weights = weights, .chunk_tokens = chunk});
    expect_close(loss.loss_sum, expected, 1e-12);
    expect_close(loss.nll_sum, each.sum(), 1e-12);
    const auto found = in.gradients(loss.loss_sum);
    const auto wanted = torch::autograd::grad({expected}, {in.hidden, in.matrix}, {}, true);
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], wanted[i], 1e-12);
  }
}

TEST(TokenLoss, GradientsEqualFiniteDifferences) {
  for (const LossCase& each : kCases) {
    const Inputs in(torch::kFloat64);
    auto options = each.options;
    options.chunk_tokens = 4;
    check_gradients([&] { return in.loss(options).loss_sum; }, {in.hidden, in.matrix});
  }
}

TEST(TokenLoss, ComputesOnlyTheGradientsAskedFor) {
  Inputs in(torch::kFloat64);
  const auto both = in.gradients(in.loss({}).loss_sum);
  in.matrix = in.matrix.detach();
  expect_close(torch::autograd::grad({in.loss({}).loss_sum}, {in.hidden})[0], both[0], 1e-15);
  in.matrix.requires_grad_();
  in.hidden = in.hidden.detach();
  expect_close(torch::autograd::grad({in.loss({}).loss_sum}, {in.matrix})[0], both[1], 1e-15);
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(in.loss({}).loss_sum.requires_grad());
}

TEST(TokenLoss, EmptyBatchIsZero) {
  const auto hidden = torch::zeros({0, 3}).requires_grad_();
  const auto loss = token_loss(hidden, torch::ones({4, 3}), torch::zeros({0}, torch::kInt64), {});
  EXPECT_EQ(loss.loss_sum.item<double>(), 0);
  EXPECT_EQ(loss.tokens.item<int64_t>(), 0);
}

// Uses the output matrix and output scale of each model.
TEST(TokenLoss, OfAModelEqualsTheLossOfItsLogits) {
  for (const char* name : {"paper-light-tiny", "paper-transformer-tiny"}) {
    Seq2Seq model(find_model_config(name));
    model.initialise(/*seed=*/3);
    model.eval();
    const auto source = torch::randint(1, 99, {2, 9}), target = torch::randint(1, 99, {2, 6});
    const auto labels = torch::randint(1, 99, {12});
    const auto decoded = model.decode(target, model.encode(source, {}), {});
    const auto loss = token_loss(decoded.flatten(0, 1), model.output_matrix(), labels,
                                 {.output_scale = model.output_scale(), .chunk_tokens = 5});
    const auto expected = torch::nn::functional::cross_entropy(
        model.logits(decoded).flatten(0, 1), labels,
        torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
    expect_close(loss.loss_sum, expected, 1e-6, name);
  }
}

TEST(TokenLoss, RefusesWhatItCannotDo) {
  const auto hidden = torch::zeros({4, 3}), matrix = torch::zeros({9, 3});
  const auto labels = torch::zeros({4}, torch::kInt64);
  const auto refusal = [&](const torch::Tensor& h, const torch::Tensor& l,
                           const TokenLossOptions& options) {
    return message_of<Error>([&] { token_loss(h, matrix, l, options); });
  };
  EXPECT_EQ(refusal(torch::zeros({4, 2}), labels, {}),
            "token_loss: hidden [4, 2] and output matrix [9, 3]; wants [N, d] and [V, d]");
  EXPECT_EQ(refusal(hidden, labels.slice(0, 1), {}), "token_loss: labels [3] for 4 hidden states");
  EXPECT_EQ(refusal(hidden.to(torch::kBFloat16), labels, {}),
            "token_loss: hidden is BFloat16 and the output matrix Float; wants one type");
  EXPECT_EQ(refusal(hidden, labels, {.label_smoothing = 1}),
            "token_loss: label_smoothing is 1; must be in [0, 1)");
  EXPECT_EQ(refusal(hidden, labels, {.z_loss = -1}), "token_loss: z_loss is -1; must be ≥ 0");
  EXPECT_EQ(refusal(hidden, labels, {.chunk_tokens = 0}),
            "token_loss: chunk_tokens is 0; must be ≥ 1");
}

TEST(GpuTokenLoss, EqualsTheCpu) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  for (auto type : {torch::kFloat32, torch::kFloat64, torch::kBFloat16}) {
    const auto hidden = random_tensor({300, 64}, type), matrix = random_tensor({1000, 64}, type);
    auto labels = torch::randint(1000, {300}, torch::kInt64);
    labels.slice(0, 0, 300, 4).fill_(kIgnoredLabel);
    const auto run = [&](torch::Device device) {
      const auto h = hidden.to(device).requires_grad_(), m = matrix.to(device).requires_grad_();
      const auto loss = token_loss(
          h, m, labels.to(device),
          {.output_scale = 0.1, .label_smoothing = 0.1, .z_loss = 1e-4, .chunk_tokens = 128});
      auto results = torch::autograd::grad({loss.loss_sum}, {h, m});
      results.push_back(loss.loss_sum);
      return results;
    };
    const auto here = run(torch::kCPU), there = run(torch::kCUDA);
    for (size_t i = 0; i < here.size(); ++i) {
      const double gradient_tolerance = type == torch::kBFloat16 ? 2e-2 : 1e-4;
      expect_close(there[i], here[i], i == 2 ? 1e-5 : gradient_tolerance, std::to_string(i));
    }
  }
}

// Vocabularies that are and are not a multiple of the vector width, with weights. Two runs on the
// GPU are bit-identical.
TEST(GpuTokenLoss, CountsWeighsAndSkipsAsTheCpuDoes) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  for (const int64_t vocabulary : {3, 1000, 1001, 32128}) {
    const auto hidden = random_tensor({70, 32}), matrix = random_tensor({vocabulary, 32});
    const auto weights = torch::rand({70}) * 3;
    auto labels = torch::randint(vocabulary, {70}, torch::kInt64);
    labels.slice(0, 0, 70, 4).fill_(kIgnoredLabel);
    labels.slice(0, 1, 70, 4).copy_(hidden.matmul(matrix.t()).argmax(1).slice(0, 1, 70, 4));
    const auto run = [&](torch::Device device) {
      const auto h = hidden.to(device).requires_grad_(), m = matrix.to(device).requires_grad_();
      const auto loss = token_loss(h, m, labels.to(device),
                                   {.output_scale = 0.5,
                                    .label_smoothing = 0.2,
                                    .z_loss = 1e-2,
                                    .weights = weights.to(device),
                                    .chunk_tokens = 33});
      auto results = torch::autograd::grad({loss.loss_sum}, {h, m});
      for (const auto& sum :
           {loss.loss_sum, loss.nll_sum, loss.z_loss_sum, loss.correct, loss.tokens}) {
        results.push_back(sum.detach());
      }
      return results;
    };
    const auto here = run(torch::kCPU), there = run(torch::kCUDA), again = run(torch::kCUDA);
    for (size_t i = 0; i < here.size(); ++i) {
      expect_close(there[i], here[i], 2e-5, std::to_string(i));
      EXPECT_TRUE(torch::equal(there[i], again[i])) << i;
    }
  }
}

}  // namespace
}  // namespace convseq
