#include "convseq/train/step/memory_estimate.h"

#include <malloc.h>

#include <fstream>

#include "convseq/spec/presets.h"
#include "convseq/train/step/train_step.h"
#include "tensor_checks.h"
#include "train/random_batch.h"

// The estimate is between 0.7 and 1.6 times the measured memory of a step.
namespace convseq {
namespace {

double status_bytes(const std::string& key) {  // from /proc/self/status
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsWatched = true;  // by a sanitizer, which needs much memory itself
#elif defined(__has_feature)
constexpr bool kMemoryIsWatched =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kMemoryIsWatched = false;
#endif

struct Case {
  std::string name;
  std::string model;
  std::vector<std::string> overrides = {};
  TrainingShape shape = {};
};
void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

double measured_bytes(const Case& each, const ModelConfig& config) {
  // What is freed goes back to the system: holes in the C library's heap, up to half of the memory
  // on x86, would count as memory of the step.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM to VmRSS
  const double before = status_bytes("VmRSS");
  Seq2Seq model(config);
  model.initialise(/*seed=*/7);
  MasterWeights weights(model, each.shape.precision);
  const auto optimizer = make_optimizer({.kind = each.shape.optimizer}, weights.learning());
  const auto communicator = make_single_communicator();
  TrainStep step(model, weights, *optimizer, *communicator,
                 {.pooled = each.shape.pooled, .recompute = each.shape.recompute});
  const int64_t targets = each.shape.pooled ? 1 : each.shape.target;
  const int64_t ids = each.shape.pooled ? config.classes : config.vocab_size;
  std::vector<Batch> batches;
  for (int64_t i = 0; i < each.shape.micro_batches; ++i) {
    batches.push_back(testing::random_batch(
        {.rows = each.shape.rows, .source = each.shape.source, .target = targets, .ids = ids}));
  }
  step.run(batches, 1e-3);
  return status_bytes("VmHWM") - before;
}

std::vector<Case> cases() {
  const std::vector<std::string> small = {"vocab_size=4000",  "d_model=256",     "d_ff=1024",
                                          "heads=4",          "d_kv=64",         "conv_heads=4",
                                          "encoder_layers=4", "decoder_layers=4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return more;
  };
  const TrainingShape shape{.rows = 16, .source = 256, .target = 64};
  const auto shaped = [&](auto change) {
    TrainingShape changed = shape;
    change(changed);
    return changed;
  };
  return {
      {"light", "paper-light-tiny", small, shape},
      {"dynamic", "paper-dynamic-tiny", with({"dropout=0.1"}), shape},
      {"gated_mixer", "paper-gated-tiny", small, shape},
      {"transformer", "paper-transformer-tiny", small, shape},
      {"transformer_dropout", "paper-transformer-tiny", with({"dropout=0.1"}), shape},
      {"gated", "paper-light-tiny", with({"ffn=gated_gelu", "norm=pre_rms_norm"}), shape},
      {"recompute", "paper-light-tiny", small,
       shaped([](auto& s) { s.rows = 32, s.recompute = true; })},
      {"bf16", "paper-light-tiny", small, shaped([](auto& s) { s.precision = torch::kBFloat16; })},
      {"micro_batches", "paper-light-tiny", with({"d_ff=4096"}),
       shaped([](auto& s) { s.rows = 4, s.micro_batches = 3; })},
      {"pooled", "paper-light-tiny", with({"classes=3", "decoder_layers=0"}),
       shaped([](auto& s) { s.rows = 24, s.pooled = true; })},
      {"large_model", "paper-light-tiny", with({"d_ff=8192"}),
       shaped([](auto& s) { s.rows = 1, s.source = 32, s.target = 16; })},
      {"adafactor", "paper-light-tiny", with({"d_ff=8192"}), shaped([](auto& s) {
         s.rows = 1, s.source = 32, s.target = 16, s.optimizer = OptimizerKind::Adafactor;
       })},
      {"vocabulary", "paper-light-tiny", with({"vocab_size=60000"}),
       shaped([](auto& s) { s.source = 32; })},
  };
}

using MemoryOfAStepDeathTest = ::testing::TestWithParam<Case>;

// Runs in its own process, because libtorch's allocator keeps memory that earlier tests have freed.
TEST_P(MemoryOfAStepDeathTest, IsAboutWhatWasEstimated) {
  if (kMemoryIsWatched) GTEST_SKIP() << "a sanitizer takes memory of its own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto compare = [] {
    const ModelConfig config = find_model_config(GetParam().model, GetParam().overrides);
    const MemoryEstimate estimate = training_memory(config, GetParam().shape);
    const double found = measured_bytes(GetParam(), config), ratio = estimate.total() / found;
    fmt::print(stderr, "{}: measured {:.0f} MB, estimated {:.2f} times that: {}\n", GetParam().name,
               found / 1e6, ratio, estimate.describe());
    std::_Exit(found > 200e6 && ratio > 0.7 && ratio < 1.6 ? 0 : 1);
  };
  EXPECT_EXIT(compare(), ::testing::ExitedWithCode(0), "estimated");
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryOfAStepDeathTest, ::testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

TEST(MemoryEstimate, OfSizesThatNoMachineHasDoesNotOverflow) {
  const auto config =
      find_model_config("paper-transformer-base", {"d_ff=16000000", "d_model=160000"});
  const TrainingShape shape{.rows = int64_t{1} << 60,
                            .source = int64_t{1} << 60,
                            .target = int64_t{1} << 60,
                            .micro_batches = int64_t{1} << 60};
  EXPECT_GT(training_memory(config, shape).total(), 1e40);
  EXPECT_GT(inference_memory(config, {.rows = int64_t{1} << 60}).total(), 1e20);
  EXPECT_GT(training_memory(config, {}).weights, 4e14);
}

TEST(MemoryEstimate, GrowsWithEachSize) {
  const auto config = find_model_config("paper-transformer-base");
  const auto total = [&](const TrainingShape& shape) {
    return training_memory(config, shape).total();
  };
  const double one = total({.rows = 8});
  EXPECT_GT(total({.rows = 16}), one);
  EXPECT_GT(total({.rows = 8, .source = 1024}), one);
  EXPECT_GT(total({.rows = 8, .target = 512}), one);
  EXPECT_GT(total({.rows = 8, .micro_batches = 2}), one);
  EXPECT_LT(total({.rows = 8, .recompute = true}), one);
  EXPECT_LT(total({.rows = 8, .optimizer = OptimizerKind::Adafactor}), one);
  EXPECT_LT(inference_memory(config, {.rows = 8}).total(), one);
}

TEST(MemoryEstimate, SaysWhatItIsMadeOf) {
  const MemoryEstimate estimate{
      .weights = 1e9, .gradients = 1e9, .optimizer = 2e9, .activations = 3.25e9};
  EXPECT_EQ(estimate.describe(), "6.25 GB (weights 1, gradients 1, optimizer 2, activations 3.25)");
}

}  // namespace
}  // namespace convseq
