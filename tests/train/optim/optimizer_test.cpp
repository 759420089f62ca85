#include "convseq/train/optim/optimizer.h"

#include "convseq/base/error.h"
#include "temp_folder.h"
#include "tensor_checks.h"

// Compares with transformers' Adafactor and torch.optim, run by
// tests/goldens/make_optimizer_goldens.py.
namespace convseq {
using testing::expect_close;
using testing::message_of;
using testing::random_tensor;

namespace {

constexpr int64_t kSteps = 50;
constexpr int64_t kProbes = 8;

double learning_rate(int64_t t) { return 0.02 + 0.01 * std::sin(static_cast<double>(t)); }

// A parameter with the gradient of a quadratic loss around a target plus an oscillating term.
struct Bowl {
  Bowl(std::string name_, int64_t seed, torch::IntArrayRef shape, double size, torch::Dtype type)
      : name(std::move(name_)) {
    index = torch::arange(c10::multiply_integers(shape), torch::kFloat64).reshape(shape);
    curvature = (1.5 + (0.7 * index + seed).sin()).to(type);
    target = (0.11 * index + seed).sin().to(type);
    parameter = (size * (1.3 * index + seed).cos()).to(type).requires_grad_();
  }
  void set_gradient(int64_t t) {
    const auto p = parameter.detach();
    parameter.mutable_grad() =
        curvature * (p - target) + (0.3 * (index + t).cos()).to(p.scalar_type());
  }
  torch::Tensor probe() const {
    const auto flat = parameter.detach().flatten().to(torch::kFloat64);
    const auto at = torch::arange(kProbes) * flat.numel() / kProbes;
    return torch::cat(
        {flat.index_select(0, at.to(torch::kInt64)), flat.square().mean().sqrt().unsqueeze(0)});
  }

  std::string name;
  torch::Tensor index, curvature, target, parameter;
};

std::vector<Bowl> make_bowls(torch::Dtype type) {
  return {{"factored", 0, {128, 130}, 1.0, type},
          {"factored_twin", 1, {128, 130}, 0.3, type},
          {"factored_cube", 2, {128, 2, 129}, 1.0, type},
          {"unfactored", 3, {127, 160}, 1.0, type},
          {"vector", 4, {37}, 1.0, type},
          {"vector_tiny", 5, {37}, 1e-5, type},
          {"zeros", 6, {5, 7}, 0.0, type}};
}

TensorMap parameters_of(const std::vector<Bowl>& bowls) {
  TensorMap parameters;
  for (const Bowl& bowl : bowls) parameters[bowl.name] = bowl.parameter;
  return parameters;
}

void run(Optimizer& optimizer, std::vector<Bowl>& bowls, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = optimizer.steps() + 1;
    for (Bowl& bowl : bowls) bowl.set_gradient(t);
    optimizer.step(learning_rate(t));
  }
}

const auto kKinds =
    ::testing::Values(OptimizerKind::Adafactor, OptimizerKind::AdamW, OptimizerKind::AdamWRms);

class OptimizerTable
    : public ::testing::TestWithParam<std::tuple<OptimizerKind, double, torch::Dtype>> {
 protected:
  OptimizerOptions options() const {
    return {.kind = std::get<0>(GetParam()), .weight_decay = std::get<1>(GetParam())};
  }
  torch::Dtype type() const { return std::get<2>(GetParam()); }
};

TEST_P(OptimizerTable, FollowsTheReferenceTrajectory) {
  const auto golden =
      load_tensors(CONVSEQ_SOURCE_DIR "/tests/goldens/optimizers.safetensors").tensors;
  const std::string prefix =
      std::string(name_of(options().kind)) + (options().weight_decay > 0 ? "_decay." : ".");
  auto bowls = make_bowls(type());
  const auto optimizer = make_optimizer(options(), parameters_of(bowls));
  for (int64_t t = 1; t <= kSteps; ++t) {
    run(*optimizer, bowls, 1);
    for (const Bowl& bowl : bowls) {
      ASSERT_EQ(bowl.parameter.scalar_type(), type());
      expect_close(bowl.probe(), golden.at(prefix + bowl.name)[t - 1],
                   type() == torch::kFloat64 ? 1e-12 : 1e-6,
                   bowl.name + " after step " + std::to_string(t));
    }
  }
}

TEST_P(OptimizerTable, ContinuesBitForBitFromASavedState) {
  testing::TempFolder folder;
  auto whole = make_bowls(type()), resumed = make_bowls(type());
  const auto uninterrupted = make_optimizer(options(), parameters_of(whole));
  run(*uninterrupted, whole, 6);
  {
    const auto first = make_optimizer(options(), parameters_of(resumed));
    run(*first, resumed, 3);
    save_tensors(folder / "state.safetensors", {.tensors = first->state(), .metadata = {}});
  }
  const auto second = make_optimizer(options(), parameters_of(resumed));
  second->load_state(load_tensors(folder / "state.safetensors").tensors, "state");
  EXPECT_EQ(second->steps(), 3);
  run(*second, resumed, 3);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_TRUE(torch::equal(whole[i].parameter, resumed[i].parameter)) << whole[i].name;
  }
}

TEST_P(OptimizerTable, AParameterWithoutAGradientRests) {
  auto bowls = make_bowls(type());
  const auto optimizer = make_optimizer(options(), parameters_of(bowls));
  run(*optimizer, bowls, 2);
  const auto resting = bowls[1].parameter.detach().clone();
  auto others = bowls;
  others.erase(others.begin() + 1);
  bowls[1].parameter.mutable_grad().reset();
  const auto moving = bowls[0].parameter.detach().clone();
  run(*optimizer, others, 2);
  EXPECT_TRUE(torch::equal(bowls[1].parameter, resting));
  EXPECT_FALSE(torch::equal(bowls[0].parameter, moving));
}

std::string case_name(const ::testing::TestParamInfo<OptimizerTable::ParamType>& info) {
  const auto [kind, decay, type] = info.param;
  return std::string(name_of(kind)) + (decay > 0 ? "_decay_" : "_") + torch::toString(type);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerTable,
                         ::testing::Combine(kKinds, ::testing::Values(0.0, 0.1),
                                            ::testing::Values(torch::kFloat32, torch::kFloat64)),
                         case_name);

TEST(Adafactor, KeepsRowsAndColumnsOnlyWhereBothReach128) {
  const auto state =
      make_optimizer({.kind = OptimizerKind::Adafactor}, {{"large", torch::zeros({2, 128, 3, 300})},
                                                          {"narrow", torch::zeros({127, 500})},
                                                          {"vector", torch::zeros({500})}})
          ->state();
  EXPECT_EQ(state.size(), 5);
  EXPECT_EQ(state.at("large.row").sizes(), torch::IntArrayRef({2, 128, 3}));
  EXPECT_EQ(state.at("large.column").sizes(), torch::IntArrayRef({2, 3, 300}));
  EXPECT_EQ(state.at("narrow.square").sizes(), torch::IntArrayRef({127, 500}));
  EXPECT_EQ(state.at("vector.square").sizes(), torch::IntArrayRef({500}));
  EXPECT_EQ(state.at("steps").item<int64_t>(), 0);
}

TEST(Adafactor, AGradientOfZeroChangesNothing) {
  for (auto shape : {std::vector<int64_t>{130, 130}, {7}}) {
    auto parameter = random_tensor(shape).requires_grad_();
    const auto before = parameter.detach().clone();
    parameter.mutable_grad() = torch::zeros(shape);
    const auto optimizer = make_optimizer({.kind = OptimizerKind::Adafactor}, {{"p", parameter}});
    for (int i = 0; i < 3; ++i) optimizer->step(0.1);
    EXPECT_TRUE(torch::equal(parameter, before));
  }
}

TEST(Optimizer, RefusesAStateThatIsNotItsOwnByNameAndStaysAsItWas) {
  auto parameter = random_tensor({3, 4}).requires_grad_();
  parameter.mutable_grad() = torch::ones({3, 4});
  const auto optimizer = make_optimizer({.kind = OptimizerKind::AdamW}, {{"w", parameter}});
  optimizer->step(0.1);
  const auto refusal = [&](const std::function<void(TensorMap&)>& damage) {
    TensorMap state;
    for (const auto& [name, tensor] : optimizer->state()) state[name] = torch::zeros_like(tensor);
    damage(state);
    return message_of<Error>([&] { optimizer->load_state(state, "file"); });
  };
  EXPECT_EQ(refusal([](TensorMap& state) { state.erase("w.mean"); }),
            "file: optimizer state w.mean is missing");
  EXPECT_EQ(refusal([](TensorMap& state) {
              state["w.square"] = torch::zeros({4, 3});
            }),
            "file: optimizer state w.square is Float [4, 3]; this optimizer and model want Float "
            "[3, 4]");
  EXPECT_EQ(refusal([](TensorMap& state) { state["steps"] = torch::zeros({}); }),
            "file: optimizer state steps is Float []; this optimizer and model want Long []");
  EXPECT_EQ(refusal([](TensorMap& state) { state["x.mean"] = torch::zeros({1}); }),
            "file: optimizer state x.mean belongs to another optimizer or model; use the one it "
            "was written with");
  EXPECT_EQ(optimizer->steps(), 1);
  EXPECT_GT(optimizer->state().at("w.mean").abs().sum().item<double>(), 0);
}

TEST(Optimizer, RefusesImpossibleSettingsByName) {
  const TensorMap one = {{"w", torch::zeros({2})}};
  const auto refusal = [](const OptimizerOptions& options, const TensorMap& parameters) {
    return message_of<Error>([&] { make_optimizer(options, parameters); });
  };
  EXPECT_EQ(refusal({.beta1 = 1}, one), "optimizer: beta1 is 1; must be in [0, 1)");
  EXPECT_EQ(refusal({.beta2 = -0.1}, one), "optimizer: beta2 is -0.1; must be in [0, 1)");
  EXPECT_EQ(refusal({.eps = 0}, one), "optimizer: eps is 0; must be > 0");
  EXPECT_EQ(refusal({.weight_decay = -1}, one), "optimizer: weight_decay is -1; must be ≥ 0");
  EXPECT_EQ(refusal({}, {}), "optimizer: there are no parameters to train");
  EXPECT_EQ(refusal({}, {{"w", torch::zeros({2}, torch::kBFloat16)}}),
            "optimizer: parameter w is BFloat16; give its fp32 master");
}

TEST(GpuOptimizer, EqualsTheCpu) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  for (const auto& [kind, name] : kEnumNames<OptimizerKind>) {
    const OptimizerOptions options{.kind = kind, .weight_decay = 0.1};
    auto here = make_bowls(torch::kFloat64), there = make_bowls(torch::kFloat64);
    for (Bowl& bowl : there) {
      for (auto* tensor : {&bowl.index, &bowl.curvature, &bowl.target}) *tensor = tensor->cuda();
      bowl.parameter = bowl.parameter.detach().cuda().requires_grad_();
    }
    run(*make_optimizer(options, parameters_of(here)), here, 20);
    run(*make_optimizer(options, parameters_of(there)), there, 20);
    for (size_t i = 0; i < here.size(); ++i) {
      expect_close(there[i].parameter, here[i].parameter, 1e-10,
                   std::string(name) + " " + here[i].name);
    }
  }
}

}  // namespace
}  // namespace convseq
