#include "convseq/model/seq2seq.h"

#include "convseq/base/error.h"
#include "convseq/spec/flops.h"
#include "model/model_table.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
using testing::check_gradients;
using testing::expect_close;
using testing::message_of;
using testing::model_cases;
using testing::ModelCase;
using testing::tolerance_of;

namespace {

class ModelTable : public ::testing::TestWithParam<std::tuple<ModelCase, torch::Dtype>> {
 protected:
  void SetUp() override {
    torch::manual_seed(5);
    dtype_ = std::get<1>(GetParam());
    tolerance_ = 4 * tolerance_of(dtype_);
    model_ = std::make_shared<Seq2Seq>(std::get<0>(GetParam()).config);
    model_->initialise(3);
    model_->to(dtype_);
    model_->eval();
  }
  torch::Tensor ids(int64_t batch, int64_t time) const {
    return torch::randint(model_->config().vocab_size, {batch, time}, torch::kInt64);
  }

  torch::Dtype dtype_{};
  double tolerance_ = 0;
  std::shared_ptr<Seq2Seq> model_;
};

class ModelInFloat64 : public ModelTable {};

TEST_P(ModelTable, IncrementalEqualsParallelAlsoInChunks) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(3, 8), target = ids(3, 11);
  const nn::Lengths lengths{torch::tensor({int64_t{8}, int64_t{3}, int64_t{1}})};
  const auto encoded = model_->encode(source, lengths);
  const auto whole = model_->logits(model_->decode(target, encoded, lengths));
  for (int64_t chunk : {1, 4, 11}) {
    DecodeState state = model_->start(encoded, lengths);
    for (int64_t begin = 0; begin < 11; begin += chunk) {
      const int64_t n = std::min<int64_t>(chunk, 11 - begin);
      expect_close(model_->step(target.narrow(1, begin, n), state), whole.narrow(1, begin, n),
                   tolerance_);
    }
    EXPECT_EQ(state.position, 11);
  }
}

TEST_P(ModelTable, ReorderedBeamsEqualRecomputedOnes) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(2, 6), target = ids(2, 5), next = ids(3, 1);
  const nn::Lengths lengths{torch::tensor({int64_t{6}, int64_t{4}})};
  const auto encoded = model_->encode(source, lengths);
  DecodeState state = model_->start(encoded, lengths);
  model_->step(target, state);
  const auto rows = torch::tensor({int64_t{1}, int64_t{1}, int64_t{0}});
  state.reorder(rows);
  const auto tokens = torch::cat({target.index_select(0, rows), next}, 1);
  const auto whole =
      model_->forward(source.index_select(0, rows), {lengths.values.index_select(0, rows)}, tokens);
  expect_close(model_->step(next, state), whole.narrow(1, 5, 1), tolerance_);
}

TEST_P(ModelTable, StepsOfFixedCapacityEqualTheParallelPass) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(3, 8), target = ids(3, 11);
  const nn::Lengths lengths{torch::tensor({int64_t{8}, int64_t{3}, int64_t{1}})};
  const auto encoded = model_->encode(source, lengths);
  const auto whole = model_->logits(model_->decode(target, encoded, lengths));
  for (int64_t capacity : {11, 16}) {
    DecodeState state = model_->start(encoded, lengths, {.capacity = capacity});
    for (int64_t i = 0; i < 11; ++i) {
      expect_close(model_->step(target.narrow(1, i, 1), state), whole.narrow(1, i, 1), tolerance_);
    }
    EXPECT_TRUE(torch::equal(state.positions, torch::full({3}, 11, torch::kInt64)));
  }
}

TEST_P(ModelTable, ReorderedBeamsOfFixedCapacityEqualRecomputedOnes) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(2, 6), target = ids(2, 5);
  const nn::Lengths lengths{torch::tensor({int64_t{6}, int64_t{4}})};
  const auto encoded = model_->encode(source, lengths);
  for (const auto& rows : {torch::tensor({int64_t{1}, int64_t{0}}),
                           torch::tensor({int64_t{1}, int64_t{1}, int64_t{0}})}) {
    DecodeState state = model_->start(encoded, lengths, {.capacity = 9});
    for (int64_t i = 0; i < 5; ++i) model_->step(target.narrow(1, i, 1), state);
    const void* source_keys = state.blocks[0].source.cache.keys.data_ptr();
    state.reorder(rows);
    EXPECT_EQ(state.blocks[0].source.cache.keys.data_ptr() == source_keys, rows.size(0) == 2);
    const auto next = ids(rows.size(0), 1);
    const auto tokens = torch::cat({target.index_select(0, rows), next}, 1);
    const auto whole = model_->forward(source.index_select(0, rows),
                                       {lengths.values.index_select(0, rows)}, tokens);
    expect_close(model_->step(next, state), whole.narrow(1, 5, 1), tolerance_);
  }
}

// Int8 keys and values are off by at most 1/254 of the largest of their token and head.
TEST_P(ModelTable, StepsWithAnInt8CacheStayNearTheParallelPass) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(3, 8), target = ids(3, 11);
  const nn::Lengths lengths{torch::tensor({int64_t{8}, int64_t{3}, int64_t{1}})};
  const auto encoded = model_->encode(source, lengths);
  const auto whole = model_->logits(model_->decode(target, encoded, lengths));
  DecodeState state = model_->start(encoded, lengths, {.capacity = 11, .cache = KvCacheType::Int8});
  for (int64_t i = 0; i < 11; ++i) {
    expect_close(model_->step(target.narrow(1, i, 1), state), whole.narrow(1, i, 1),
                 tolerance_ + 0.03);
  }
}

TEST_P(ModelTable, AnInt8CacheIsReordered) {
  const torch::NoGradGuard no_grad;
  const DecodeStateOptions int8{.capacity = 7, .cache = KvCacheType::Int8};
  const auto encoded = model_->encode(ids(2, 6), {});
  const auto target = ids(2, 4), rows = torch::tensor({int64_t{1}, int64_t{0}});
  DecodeState state = model_->start(encoded, {}, int8), swapped = model_->start(encoded, {}, int8);
  for (int64_t i = 0; i < 4; ++i) {
    model_->step(target.narrow(1, i, 1), state);
    model_->step(target.narrow(1, i, 1), swapped);
  }
  swapped.reorder(rows);
  const auto next = ids(2, 1);
  expect_close(model_->step(next.index_select(0, rows), swapped).index_select(0, rows),
               model_->step(next, state), tolerance_);
}

// One row may restart while the others continue, as in continuous batching.
TEST_P(ModelTable, RowsOfFixedCapacityHaveTheirOwnPositions) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(2, 6), target = ids(2, 4);
  const auto encoded = model_->encode(source, {});
  const auto whole = model_->logits(model_->decode(target, encoded, {}));
  DecodeState state = model_->start(encoded, {}, {.capacity = 8});
  for (int64_t i = 0; i < 3; ++i) model_->step(target.narrow(1, i, 1), state);
  state.positions[1] = 0;
  const auto next =
      torch::cat({target.narrow(0, 0, 1).narrow(1, 3, 1), target.narrow(0, 1, 1).narrow(1, 0, 1)});
  const auto logits = model_->step(next, state);
  expect_close(logits[0][0], whole[0][3], tolerance_);
  expect_close(logits[1][0], whole[1][0], tolerance_);
}

TEST_P(ModelTable, PaddingChangesNothing) {
  const auto source = ids(1, 4), target = ids(1, 3);
  const auto run = [&](const torch::Tensor& s, const nn::Lengths& lengths, const torch::Tensor& t) {
    model_->zero_grad();
    const auto logits = model_->forward(s, lengths, t).narrow(0, 0, 1).narrow(1, 0, 3);
    logits.square().sum().backward();
    std::vector<torch::Tensor> result = {logits.detach()};
    for (const auto& parameter : model_->parameters()) result.push_back(parameter.grad().clone());
    return result;
  };
  const auto bare = run(source, {}, target);
  const auto padded_source = torch::cat({torch::cat({source, ids(1, 7)}, 1), ids(2, 11)});
  const auto padded_target = torch::cat({torch::cat({target, ids(1, 2)}, 1), ids(2, 5)});
  const auto padded =
      run(padded_source, {torch::tensor({int64_t{4}, int64_t{11}, int64_t{0}})}, padded_target);
  for (size_t i = 0; i < bare.size(); ++i) {
    // A gradient is a sum of rounded products, so its error in bf16 scales with its largest
    // element.
    const double scale = 1 + bare[i].abs().max().item<double>();
    expect_close(padded[i] / scale, bare[i] / scale, tolerance_, std::to_string(i));
  }
}

TEST_P(ModelTable, DecoderIgnoresTheFuture) {
  const torch::NoGradGuard no_grad;
  const auto source = ids(2, 5);
  auto target = ids(2, 9);
  const auto before = model_->forward(source, {}, target);
  target.narrow(1, 4, 5).copy_(ids(2, 5));
  expect_close(model_->forward(source, {}, target).narrow(1, 0, 4), before.narrow(1, 0, 4),
               tolerance_);
}

TEST_P(ModelInFloat64, GradientsEqualFiniteDifferences) {
  // ReLU has no derivative at 0, but a difference of 1e-5 rarely crosses it.
  const auto source = ids(2, 5), target = ids(2, 4);
  const nn::Lengths lengths{torch::tensor({int64_t{5}, int64_t{2}})};
  check_gradients([&] { return model_->forward(source, lengths, target).log_softmax(-1); },
                  model_->parameters(), {.tolerance = 1e-5, .samples = 6});
}

TEST_P(ModelInFloat64, FixedCapacityHasTheBytesOfAFullState) {
  const torch::NoGradGuard no_grad;
  const DecodeState state = model_->start(model_->encode(ids(1, 6), {}), {}, {.capacity = 4});
  const DecodeBytes expected = decode_state_bytes(model_->config(), 6, 4, sizeof(double));
  EXPECT_EQ(state.mixer_bytes(), expected.mixers);
  EXPECT_EQ(state.source_bytes(), expected.source);
}

TEST_P(ModelInFloat64, AnInt8CacheHasTheBytesOfItsFormula) {
  const torch::NoGradGuard no_grad;
  const DecodeState state =
      model_->start(model_->encode(ids(1, 6), {}), {}, {.capacity = 4, .cache = KvCacheType::Int8});
  const DecodeBytes expected =
      decode_state_bytes(model_->config(), 6, 4, sizeof(double), KvCacheType::Int8);
  EXPECT_EQ(state.mixer_bytes(), expected.mixers);
  EXPECT_EQ(state.source_bytes(), expected.source);
}

TEST_P(ModelInFloat64, DecodeStateHasTheBytesOfItsFormula) {
  const torch::NoGradGuard no_grad;
  DecodeState state = model_->start(model_->encode(ids(1, 6), {}), {});
  model_->step(ids(1, 4), state);
  const DecodeBytes expected = decode_state_bytes(model_->config(), 6, 4, sizeof(double));
  EXPECT_EQ(state.mixer_bytes(), expected.mixers);
  EXPECT_EQ(state.source_bytes(), expected.source);
}

std::string case_name(const ::testing::TestParamInfo<ModelTable::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + torch::toString(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Models, ModelTable,
                         ::testing::Combine(::testing::ValuesIn(model_cases()),
                                            ::testing::Values(torch::kFloat32, torch::kFloat64,
                                                              torch::kBFloat16)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Models, ModelInFloat64,
                         ::testing::Combine(::testing::ValuesIn(model_cases()),
                                            ::testing::Values(torch::kFloat64)),
                         case_name);

}  // namespace

TEST(Seq2Seq, SameSeedGivesTheSameModel) {
  const ModelConfig config = model_cases()[3].config;
  Seq2Seq first(config), second(config), third(config);
  first.initialise(1);
  second.initialise(1);
  third.initialise(2);
  bool differs = false;
  for (size_t i = 0; i < first.parameters().size(); ++i) {
    EXPECT_TRUE(torch::equal(first.parameters()[i], second.parameters()[i]));
    differs |= !torch::equal(first.parameters()[i], third.parameters()[i]);
  }
  EXPECT_TRUE(differs);
}

TEST(Seq2Seq, LeavesNoParameterUnset) {
  for (const ModelCase& each : model_cases()) {
    ModelConfig config = each.config;
    config.classes = 2;
    Seq2Seq model(config);
    {
      const torch::NoGradGuard no_grad;
      for (const auto& parameter : model.parameters()) parameter.fill_(std::nan(""));
    }
    model.initialise(1);
    for (const auto& item : model.named_parameters()) {
      EXPECT_TRUE(item.value().isfinite().all().item<bool>()) << each.name << " " << item.key();
    }
  }
}

TEST(Seq2Seq, EncoderOutputReachesItsReceptiveFieldAndNoFurther) {
  ModelConfig config = model_cases()[3].config;  // light, kernels 3 and 5
  Seq2Seq model(config);
  model.initialise(1);
  const torch::NoGradGuard no_grad;
  const int64_t time = 21, middle = 10, reach = (*receptive_field(config, Side::Encoder) - 1) / 2;
  const auto source = torch::full({1, time}, 4, torch::kInt64);
  const auto before = model.encode(source, {})[0][middle];
  for (int64_t at = 0; at < time; ++at) {
    auto changed = source.clone();
    changed[0][at] = 5;
    const bool reaches = !torch::equal(model.encode(changed, {})[0][middle], before);
    EXPECT_EQ(reaches, std::abs(at - middle) <= reach) << at;
  }
}

TEST(Seq2Seq, RefusesSequencesBeyondItsLearnedPositions) {
  Seq2Seq model(model_cases()[1].config);
  model.initialise(1);
  const auto source = torch::zeros({1, 21}, torch::kInt64);
  EXPECT_EQ(message_of<Error>([&] { model.encode(source, {}); }),
            "sequence of 21 tokens is longer than max_positions 20");
}

namespace {
double relative_error(const torch::Tensor& actual, const torch::Tensor& expected) {
  const auto difference = actual.cpu().to(torch::kFloat64) - expected;
  return (difference.norm() / expected.norm()).item<double>();
}
}  // namespace

TEST(GpuSeq2Seq, EqualsTheCpu) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  const torch::NoGradGuard no_grad;
  for (const ModelCase& each : model_cases()) {
    torch::manual_seed(1);
    Seq2Seq model(each.config);
    model.initialise(1);
    model.eval();
    const auto source = torch::randint(19, {3, 9}, torch::kInt64);
    const auto target = torch::randint(19, {3, 6}, torch::kInt64);
    const auto lengths = torch::tensor({int64_t{9}, int64_t{4}, int64_t{1}});
    const auto on_cpu = [&] { return model.forward(source, {lengths}, target); };
    const auto on_gpu = [&] {
      return model.forward(source.cuda(), {lengths.cuda()}, target.cuda());
    };

    const auto expected = on_cpu();
    model.to(torch::kCUDA);
    expect_close(on_gpu(), expected, 1e-3, each.name);

    // A tiny model in bf16 has an error of a few percent. The GPU must be about as accurate as the
    // CPU.
    model.to(torch::kCPU);
    model.to(torch::kBFloat16);
    const auto rounded = on_cpu();
    model.to(torch::kFloat64);
    const auto exact = on_cpu();  // with the same rounded weights
    model.to(torch::kBFloat16);
    model.to(torch::kCUDA);
    EXPECT_LT(relative_error(on_gpu(), exact), 2 * relative_error(rounded, exact) + 1e-2)
        << each.name;
  }
}

}  // namespace convseq
