#include "convseq/model/seq2seq.h"
#include "model/model_table.h"
#include "tensor_checks.h"

namespace convseq {
namespace {

struct Pass {
  torch::Tensor loss;
  std::vector<torch::Tensor> gradients;
};

Pass train_pass(const ModelConfig& config, bool recompute, bool frozen) {
  Seq2Seq model(config);
  model.initialise(5);
  model.recompute_blocks(recompute);
  if (frozen) model.freeze_encoder();
  model.train();
  torch::manual_seed(11);
  const auto source = torch::randint(2, 19, {3, 7}), target = torch::randint(2, 19, {3, 5});
  const auto lengths = torch::tensor({7, 2, 5});
  Pass pass;
  pass.loss = model.forward(source, {lengths}, target).log_softmax(-1).square().mean();
  pass.loss.backward();
  for (const auto& parameter : model.parameters()) pass.gradients.push_back(parameter.grad());
  return pass;
}

// Recomputation draws the same random numbers, so the loss is bit-identical with dropout too.
TEST(Recompute, GivesTheSameGradientsWithDropout) {
  for (auto [name, config] : testing::model_cases()) {
    config.dropout = 0.2;
    config.tap_dropout = 0.2;
    for (const bool frozen : {false, true}) {
      const Pass plain = train_pass(config, false, frozen),
                 again = train_pass(config, true, frozen);
      EXPECT_TRUE(torch::equal(plain.loss, again.loss)) << name;
      for (size_t i = 0; i < plain.gradients.size(); ++i) {
        ASSERT_EQ(plain.gradients[i].defined(), again.gradients[i].defined()) << name << " " << i;
        if (!plain.gradients[i].defined()) continue;
        // Gradients summed over layers may be accumulated in another order.
        testing::expect_close(again.gradients[i], plain.gradients[i], 1e-6, name);
      }
    }
  }
}

TEST(FreezeEncoder, LeavesItWithoutGradientsAndDropout) {
  for (auto [name, config] : testing::model_cases()) {
    config.dropout = 0.5;
    Seq2Seq model(config);
    model.initialise(5);
    model.freeze_encoder();
    model.eval();
    model.train();
    const auto source = torch::randint(2, 19, {3, 7});
    EXPECT_TRUE(torch::equal(model.encode(source, {}), model.encode(source, {}))) << name;
    model.forward(source, {}, source).square().mean().backward();
    for (const auto& parameter : model.named_parameters()) {
      const bool frozen =
          parameter.key().starts_with("encoder.") || parameter.key() == "embedding.weight";
      EXPECT_NE(parameter.value().grad().defined(), frozen) << name << " " << parameter.key();
    }
  }
}

}  // namespace
}  // namespace convseq
