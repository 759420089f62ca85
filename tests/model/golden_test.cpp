#include "convseq/model/checkpoint.h"
#include "goldens/golden_models.h"
#include "tensor_checks.h"

// Compares with an independent PyTorch model, tests/goldens/make_goldens.py.
namespace convseq {
using testing::expect_close;
using testing::golden_config;
using testing::golden_file;
using testing::golden_models;
using testing::golden_parameters;

namespace {

constexpr double kTolerance = 1e-5;

class Golden : public ::testing::TestWithParam<std::string> {};

std::shared_ptr<Seq2Seq> golden_model(const TensorFile& file) {
  auto model = std::make_shared<Seq2Seq>(golden_config(file.metadata));
  load_parameters(*model, golden_parameters(file.tensors), "golden");
  return model;
}

TEST_P(Golden, OutputsLossAndEveryGradientEqualPyTorchs) {
  const TensorFile file = load_tensors(golden_file(GetParam()));
  const auto& t = file.tensors;
  const auto model = golden_model(file);
  const nn::Lengths source_lengths{t.at("source_lengths")}, target_lengths{t.at("target_lengths")};

  const auto encoded = model->encode(t.at("source"), source_lengths);
  const auto real_source = source_lengths.mask(encoded.size(1));
  expect_close(encoded.index({real_source}), t.at("encoded").index({real_source}), kTolerance,
               "encoded");

  const auto logits = model->logits(model->decode(t.at("target"), encoded, source_lengths));
  const auto real_target = target_lengths.mask(logits.size(1));
  expect_close(logits.index({real_target}), t.at("logits").index({real_target}), kTolerance,
               "logits");

  auto loss = at::cross_entropy_loss(logits.flatten(0, 1), t.at("labels").flatten());
  if (t.contains("class_labels")) {
    const auto classes = model->classify(encoded, source_lengths);
    expect_close(classes, t.at("class_logits"), kTolerance, "class_logits");
    loss = loss + at::cross_entropy_loss(classes, t.at("class_labels"));
  }
  expect_close(loss, t.at("loss").reshape({}), kTolerance, "loss");

  loss.backward();
  for (const auto& [name, parameter] : parameters_of(*model)) {
    expect_close(parameter.grad(), t.at("grad." + name), kTolerance, "gradient of " + name);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, ::testing::ValuesIn(golden_models()),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace convseq
