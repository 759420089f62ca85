#include <torch/cuda.h>

#include "convseq/model/seq2seq.h"
#include "convseq/ops/graph/device_graph.h"
#include "convseq/ops/select_token.h"
#include "model/model_table.h"
#include "tensor_checks.h"

namespace convseq {
using testing::expect_close;
using testing::model_cases;
using testing::ModelCase;

namespace {

constexpr int64_t kSteps = 9, kSource = 21;

// A model of the table, in sizes that the GPU kernels support.
std::shared_ptr<Seq2Seq> wide_model(ModelConfig config, torch::Dtype type) {
  config.d_model = 128;
  config.d_ff = 192;
  config.heads = 2;
  config.d_kv = 64;
  config.vocab_size = 1000;
  config.max_positions = 64;
  auto model = std::make_shared<Seq2Seq>(config);
  model->initialise(3);
  model->to(torch::kCUDA, type);
  model->eval();
  return model;
}

struct Decoded {
  ops::TokenSelection selection;
  std::vector<torch::Tensor> logits;  // per step, on the host
};

class GreedyDecoding {
 public:
  GreedyDecoding(Seq2Seq& model, const torch::Tensor& source, const nn::Lengths& lengths,
                 KvCacheType cache = KvCacheType::Auto)
      : model_(model),
        state_(model.start(model.encode(source, lengths), lengths,
                           {.capacity = kSteps, .cache = cache})),
        selection_(ops::start_selection(source.size(0), kSteps, /*start=*/0, /*pad=*/0,
                                        source.device())) {}

  Decoded launched() {
    Decoded decoded;
    for (int64_t i = 0; i < kSteps; ++i) {
      step();
      decoded.logits.push_back(logits_.cpu());
    }
    decoded.selection = selection_;
    return decoded;
  }

  // The first step is launched; the others replay one captured step.
  Decoded replayed() {
    GraphStream stream{torch::Device(torch::kCUDA, 0)};
    DeviceGraph graph(stream);
    Decoded decoded;
    stream.run([&] { step(); });
    torch::cuda::synchronize();
    decoded.logits.push_back(logits_.cpu());
    EXPECT_TRUE(graph.capture([&] { step(); }));
    for (int64_t i = 1; i < kSteps; ++i) {
      graph.replay();
      torch::cuda::synchronize();
      decoded.logits.push_back(logits_.cpu());
    }
    decoded.selection = selection_;
    return decoded;
  }

 private:
  void step() {
    logits_ = model_.step(selection_.next, state_);
    ops::select_token(logits_, {.eos = 1, .pad = 0}, selection_);
  }

  Seq2Seq& model_;
  DecodeState state_;
  ops::TokenSelection selection_;
  torch::Tensor logits_;
};

class GpuDecodeGraph : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    torch::manual_seed(2);
  }
  static torch::Tensor source(int64_t batch) {
    return torch::randint(1000, {batch, kSource}, torch::kInt64).cuda();
  }
  static nn::Lengths lengths(int64_t batch) {
    return {torch::randint(1, kSource + 1, {batch}, torch::kInt64).cuda()};
  }
};

TEST_P(GpuDecodeGraph, ReplayedStepsEqualLaunchedOnesBitForBit) {
  const torch::NoGradGuard no_grad;
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const auto model = wide_model(GetParam().config, type);
    for (const int64_t batch : {1, 5, 64}) {
      const auto ids = source(batch);
      const auto some = lengths(batch);
      for (const auto cache : {KvCacheType::Auto, KvCacheType::Int8}) {
        const Decoded launched = GreedyDecoding(*model, ids, some, cache).launched();
        const Decoded replayed = GreedyDecoding(*model, ids, some, cache).replayed();
        for (size_t i = 0; i < kSteps; ++i) {
          EXPECT_TRUE(torch::equal(replayed.logits[i], launched.logits[i])) << batch << ", " << i;
        }
        EXPECT_TRUE(torch::equal(replayed.selection.ids, launched.selection.ids));
        EXPECT_TRUE(torch::equal(replayed.selection.lengths, launched.selection.lengths));
      }
    }
  }
}

TEST_P(GpuDecodeGraph, StepsEqualTheParallelPass) {
  const torch::NoGradGuard no_grad;
  for (const auto& [type, tolerance] :
       {std::pair(torch::kFloat32, 1e-3), std::pair(torch::kBFloat16, 0.12)}) {
    const auto model = wide_model(GetParam().config, type);
    for (const int64_t batch : {1, 3, 70}) {
      const auto ids = source(batch);
      const auto some = lengths(batch);
      const Decoded decoded = GreedyDecoding(*model, ids, some).launched();
      // The inputs of the steps: the start token, then the selected tokens.
      const auto inputs = torch::cat(
          {torch::zeros({batch, 1}, ids.options()), decoded.selection.ids.narrow(1, 0, kSteps - 1)},
          1);
      const auto whole = model->forward(ids, some, inputs).cpu();
      for (int64_t i = 0; i < kSteps; ++i) {
        expect_close(decoded.logits[static_cast<size_t>(i)], whole.narrow(1, i, 1), tolerance,
                     fmt::format("batch {}, step {}", batch, i));
      }
    }
  }
}

// Random weights give nearly equal logits, so that a small error may choose another token, and all
// later tokens of the row then differ.
TEST_P(GpuDecodeGraph, AnInt8CacheChoosesNearlyTheSameTokens) {
  const torch::NoGradGuard no_grad;
  const auto model = wide_model(GetParam().config, torch::kBFloat16);
  const auto ids = source(64);
  const auto some = lengths(64);
  const Decoded exact = GreedyDecoding(*model, ids, some).launched();
  const Decoded int8 = GreedyDecoding(*model, ids, some, KvCacheType::Int8).launched();
  expect_close(int8.logits[0], exact.logits[0], 0.1);
  const double equal =
      (int8.selection.ids == exact.selection.ids).to(torch::kFloat64).mean().item<double>();
  fmt::print("{}: {:.3f} of the tokens are equal\n", GetParam().name, equal);
  EXPECT_GE(equal, 0.75);
}

INSTANTIATE_TEST_SUITE_P(Gpu, GpuDecodeGraph, ::testing::ValuesIn(model_cases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace convseq
