#include "convseq/dist/gradient_buckets.h"

#include "tensor_checks.h"

namespace convseq {
namespace {

// As if a second process had the same gradients; writes down what it is asked.
class Mirror final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Pending> start_all_reduce_sum(std::vector<torch::Tensor> tensors) override {
    EXPECT_EQ(tensors.size(), 1u);
    sent.push_back(tensors[0].numel());
    tensors[0].mul_(2);
    return std::make_unique<Done>();
  }
  void broadcast(torch::Tensor, int) override {}
  void barrier() override {}
  void end_all(std::string_view) override { std::abort(); }

  std::vector<int64_t> sent;  // elements, in the order of sending

 private:
  struct Done final : Pending {
    void wait() override {}
  };
};

// Parameters of 10, 20, 30 and 40 numbers, used in this order.
std::vector<torch::Tensor> four_parameters() {
  std::vector<torch::Tensor> parameters;
  for (int64_t size : {10, 20, 30, 40}) {
    parameters.push_back(torch::ones({size}, torch::kFloat64).requires_grad_());
  }
  return parameters;
}

torch::Tensor chain(const std::vector<torch::Tensor>& parameters) {
  auto x = torch::ones({}, torch::kFloat64);
  for (const auto& parameter : parameters) x = (x * parameter).mean();
  return x;
}

constexpr GradientBucketsOptions kSmall{.megabytes = 400e-6};  // 50 numbers of float64

}  // namespace

TEST(GradientBuckets, AreSentDuringTheBackwardPassLastParametersFirst) {
  const auto parameters = four_parameters();
  Mirror mirror;
  GradientBuckets buckets(mirror, parameters, kSmall);
  EXPECT_EQ(buckets.bucket_count(), 3u);  // 40; 30 and 20; 10
  buckets.start();
  chain(parameters).backward();
  EXPECT_EQ(mirror.sent, (std::vector<int64_t>{40 + 1, 50 + 2, 10 + 1}));
  buckets.finish();
  for (const auto& parameter : parameters) {
    const auto expected = torch::full_like(parameter, 2.0 / static_cast<double>(parameter.numel()));
    testing::expect_close(parameter.grad(), expected, 1e-15);
  }
}

TEST(GradientBuckets, WaitForTheLastPassOfAnAccumulation) {
  const auto parameters = four_parameters();
  Mirror mirror;
  GradientBuckets buckets(mirror, parameters, kSmall);
  chain(parameters).backward();
  EXPECT_TRUE(mirror.sent.empty());
  buckets.start();
  chain(parameters).backward();
  EXPECT_EQ(mirror.sent.size(), 3u);
  buckets.finish();
  EXPECT_NEAR(parameters[0].grad().sum().item<double>(), 4, 1e-14);
}

// 1 + 2⁻⁹ is no bf16 number: the sum must be kept in fp32 from the masters to the masters.
TEST(GradientBuckets, SumsOfBf16BecomeTheMastersGradientsInFp32) {
  const auto parameter = torch::ones({3}, torch::kBFloat16).requires_grad_();
  const auto without = torch::ones({2}, torch::kBFloat16).requires_grad_();
  const auto master = torch::ones({3}), other = torch::ones({2});
  Mirror mirror;
  GradientBuckets buckets(mirror, {parameter, without}, {.masters = {master, other}});
  for (int step = 0; step < 2; ++step) {
    master.mutable_grad() = torch::full({3}, 1.0 / 512);  // of earlier micro-batches
    other.mutable_grad().reset();
    buckets.start();
    parameter.sum().backward();
    buckets.finish();
    testing::expect_close(master.grad(), torch::full({3}, 2 * (1 + 1.0 / 512)), 1e-7);
    EXPECT_FALSE(parameter.grad().defined());
    EXPECT_FALSE(other.grad().defined());
  }
}

TEST(GradientBuckets, KeepTheirOrderWhereAParameterHasNoGradient) {
  const auto parameters = four_parameters();
  Mirror mirror;
  GradientBuckets buckets(mirror, parameters, kSmall);
  buckets.start();
  chain({parameters[0], parameters[1], parameters[2]}).backward();  // the first bucket's lacks
  EXPECT_TRUE(mirror.sent.empty());
  buckets.finish();
  EXPECT_EQ(mirror.sent, (std::vector<int64_t>{40 + 1, 50 + 2, 10 + 1}));
  EXPECT_FALSE(parameters[3].grad().defined());
  EXPECT_NEAR(parameters[0].grad().sum().item<double>(), 2, 1e-14);
}

TEST(GradientBuckets, RefuseAGradientThatComesTwiceUnlessTheyWait) {
  for (const bool overlap : {true, false}) {
    const auto parameters = four_parameters();
    Mirror mirror;
    GradientBuckets buckets(mirror, parameters, {.overlap = overlap});
    buckets.start();
    chain(parameters).backward();
    if (overlap) {
      EXPECT_THROW(chain(parameters).backward(), c10::Error);
    } else {
      EXPECT_NO_THROW(chain(parameters).backward());
      buckets.finish();
      EXPECT_NEAR(parameters[0].grad().sum().item<double>(), 4, 1e-14);
    }
  }
}

TEST(GradientBuckets, LeaveTheirParametersWhenTheyGo) {
  const auto parameters = four_parameters();
  Mirror mirror;
  { GradientBuckets buckets(mirror, parameters); }
  chain(parameters).backward();
  EXPECT_TRUE(mirror.sent.empty());
}

TEST(GradientBuckets, ChangeNothingWithOneProcess) {
  const auto parameters = four_parameters();
  const auto communicator = make_single_communicator();
  GradientBuckets buckets(*communicator, parameters);
  EXPECT_EQ(buckets.bucket_count(), 0u);
  buckets.start();
  chain({parameters[0], parameters[1]}).backward();
  const auto before = parameters[0].grad().clone();
  buckets.finish();
  EXPECT_TRUE(torch::equal(parameters[0].grad(), before));
  EXPECT_FALSE(parameters[3].grad().defined());
}

}  // namespace convseq
