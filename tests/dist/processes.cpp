// What every process of a run does together; mpirun_test.cpp starts it with mpirun.
//   dist_processes --gtest_…   the tests below, on every process
//   dist_processes digest      prints a checksum of summed gradients
//   dist_processes killed      the last process kills itself while the others wait for it
//   dist_processes throws      the last process throws while the others wait for it
#include <torch/types.h>

#include <csignal>

#include "convseq/base/error.h"
#include "convseq/base/metrics/crc32c.h"
#include "convseq/dist/gradient_buckets.h"
#include "convseq/model/seq2seq.h"
#include "tensor_checks.h"

namespace convseq {
namespace {

using testing::expect_close;

Communicator* processes = nullptr;  // made once a process, by main

std::shared_ptr<Seq2Seq> tiny_model(torch::Dtype dtype) {
  ModelConfig config;
  config.vocab_size = 19;
  config.d_model = 12;
  config.d_ff = 16;
  config.encoder_layers = config.decoder_layers = 2;
  config.heads = 3;
  config.d_kv = 4;
  config.kernel_sizes = {{3, 5}};
  config.conv_heads = 4;
  config.classes = 2;  // a head that this loss does not reach: parameters without gradient
  auto model = std::make_shared<Seq2Seq>(config);
  model->initialise(3);
  model->to(dtype);
  return model;
}

// The loss on the batch of one process and micro-batch.
torch::Tensor loss_of(Seq2Seq& model, int process, int micro) {
  auto random = at::detail::createCPUGenerator(static_cast<uint64_t>(100 * process + micro));
  const auto source = torch::randint(19, {2, 6}, random, torch::kInt64);
  const auto target = torch::randint(19, {2, 5}, random, torch::kInt64);
  return model.forward(source, {}, target).log_softmax(-1).square().sum();
}

std::vector<torch::Tensor> gradients_of(const Seq2Seq& model) {
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : model.parameters()) gradients.push_back(parameter.grad());
  return gradients;
}

constexpr int kMicroBatches = 2;

std::vector<torch::Tensor> summed_gradients(torch::Dtype dtype,
                                            const GradientBucketsOptions& options) {
  const auto model = tiny_model(dtype);
  GradientBuckets buckets(*processes, model->parameters(), options);
  for (int micro = 0; micro < kMicroBatches; ++micro) {
    if (micro == kMicroBatches - 1) buckets.start();
    loss_of(*model, processes->rank(), micro).backward();
  }
  buckets.finish();
  return gradients_of(*model);
}

constexpr GradientBucketsOptions kManyBuckets{.megabytes = 1e-3};

TEST(Processes, SumInPlace) {
  const int size = processes->size(), rank = processes->rank();
  for (const auto dtype : {torch::kFloat32, torch::kFloat64, torch::kInt64}) {
    for (const int64_t elements : {0, 1, 1000, 1'000'003}) {
      const auto ramp = torch::arange(elements, dtype).remainder(100);
      const auto first = ramp * (rank + 1), second = torch::full({2, 3}, rank, dtype);
      processes->all_reduce_sum({first, second});
      EXPECT_TRUE(torch::equal(first, ramp * (size * (size + 1) / 2))) << dtype << elements;
      EXPECT_TRUE(torch::equal(second, torch::full({2, 3}, size * (size - 1) / 2, dtype)));
    }
  }
}

TEST(Processes, SumSeveralAtOnce) {
  const int size = processes->size();
  std::vector<torch::Tensor> tensors;
  std::vector<std::unique_ptr<Communicator::Pending>> pending;
  for (int i = 0; i < 8; ++i) {
    tensors.push_back(torch::full({10'000 * (i + 1)}, i, torch::kFloat64));
    pending.push_back(processes->start_all_reduce_sum({tensors.back()}));
    processes->progress();
  }
  for (int i = 7; i >= 0; --i) {  // waited for in another order
    pending[static_cast<size_t>(i)]->wait();
    EXPECT_TRUE((tensors[static_cast<size_t>(i)] == i * size).all().item<bool>());
  }
}

TEST(Processes, BroadcastFromEveryRoot) {
  for (int root = 0; root < processes->size(); ++root) {
    for (const auto dtype : {torch::kUInt8, torch::kBFloat16, torch::kFloat64}) {
      const auto tensor = torch::full({33}, processes->rank() + 5, dtype);
      processes->broadcast(tensor, root);
      EXPECT_TRUE((tensor == root + 5).all().item<bool>());
    }
  }
  processes->barrier();
}

TEST(Processes, BucketsEqualThePlainSum) {
  const auto model = tiny_model(torch::kFloat64);
  for (int process = 0; process < processes->size(); ++process) {
    for (int micro = 0; micro < kMicroBatches; ++micro) loss_of(*model, process, micro).backward();
  }
  const auto expected = gradients_of(*model);
  for (const bool overlap : {true, false}) {
    for (const double megabytes : {1e-5, 1e-3, 25.0}) {
      const auto summed =
          summed_gradients(torch::kFloat64, {.megabytes = megabytes, .overlap = overlap});
      for (size_t i = 0; i < summed.size(); ++i) {
        ASSERT_EQ(summed[i].defined(), expected[i].defined()) << i;
        if (summed[i].defined()) expect_close(summed[i], expected[i], 1e-12);
      }
    }
  }
}

TEST(Processes, GetTheSameBitsAndGetThemAgain) {
  for (const auto dtype : {torch::kFloat32, torch::kBFloat16}) {
    const auto first = summed_gradients(dtype, kManyBuckets);
    const auto again = summed_gradients(dtype, kManyBuckets);
    for (size_t i = 0; i < first.size(); ++i) {
      if (!first[i].defined()) continue;
      const auto of_the_first_process = first[i].clone();
      processes->broadcast(of_the_first_process, 0);
      EXPECT_TRUE(torch::equal(first[i], again[i]));
      EXPECT_TRUE(torch::equal(first[i], of_the_first_process));
    }
  }
}

TEST(Processes, ShareAGradientThatOnlyOneOfThemHas) {
  const auto parameter = torch::ones({3}, torch::kFloat64).requires_grad_();
  const auto nobodys = torch::ones({3}, torch::kFloat64).requires_grad_();
  GradientBuckets buckets(*processes, {parameter, nobodys});
  buckets.start();
  if (processes->rank() == 0) (parameter * 6).sum().backward();
  buckets.finish();
  EXPECT_TRUE(torch::equal(parameter.grad(), torch::full({3}, 6.0, torch::kFloat64)));
  EXPECT_FALSE(nobodys.grad().defined());
}

void print_digest() {
  std::string bytes;
  for (const auto& gradient : summed_gradients(torch::kFloat32, kManyBuckets)) {
    if (!gradient.defined()) continue;
    bytes.append(static_cast<const char*>(gradient.contiguous().data_ptr()), gradient.nbytes());
  }
  fmt::print("{} {:08x}\n", processes->size(), crc32c(bytes));
}

[[noreturn]] void lose_the_last(bool killed) {
  run_together(*processes, [&] {
    processes->barrier();
    if (processes->rank() == processes->size() - 1) {
      if (killed) std::raise(SIGKILL);
      fail("the corpus is gone");
    }
    processes->barrier();
  });
  std::abort();
}

}  // namespace
}  // namespace convseq

int main(int count, char** arguments) {
  ::testing::InitGoogleTest(&count, arguments);
  const auto communicator = convseq::make_communicator(torch::kCPU);
  convseq::processes = communicator.get();
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "killed" || what == "throws") convseq::lose_the_last(what == "killed");
  if (what != "digest") return RUN_ALL_TESTS();
  convseq::print_digest();
}
