#include "convseq/spec/parameter_list.h"

#include <gtest/gtest.h>

#include "convseq/base/safetensors/safetensors.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

const ModelConfig kTiny =
    find_model_config("paper-light-tiny", {"vocab_size=8", "d_model=4", "d_ff=4", "conv_heads=2"});
const std::vector<std::byte> kZeros(1 << 16);

// The tensors of a model, all zero.
std::map<std::string, TensorView> tensors_of(const ModelConfig& config, TensorType type) {
  std::map<std::string, TensorView> tensors;
  for (const ParameterShape& each : list_parameters(config)) {
    const auto bytes = static_cast<size_t>(each.count() * byte_size(type));
    tensors[each.name] = {type, each.shape, std::span(kZeros).first(bytes)};
  }
  return tensors;
}

std::string refusal_of(const std::map<std::string, TensorView>& tensors) {
  TempFolder folder;
  const auto path = folder / "w.safetensors";
  write_safetensors(path, tensors);
  const std::string message =
      message_of<Error>([&] { check_weights(kTiny, *SafetensorsFile::open(path), path.string()); });
  return message.empty() ? "" : message.substr(path.string().size());
}

}  // namespace

TEST(WeightsFile, HasTheParametersOfTheModel) {
  for (const TensorType type : {TensorType::F32, TensorType::BF16}) {
    EXPECT_EQ(refusal_of(tensors_of(kTiny, type)), "");
  }
}

TEST(WeightsFile, MayHaveScalesOfQuantisedMatrices) {
  auto tensors = tensors_of(kTiny, TensorType::F32);
  tensors["embedding.weight"] = {TensorType::I8, {8, 4}, std::span(kZeros).first(32)};
  tensors["embedding.weight.scale"] = {TensorType::F32, {8}, std::span(kZeros).first(32)};
  EXPECT_EQ(refusal_of(tensors), "");
}

TEST(WeightsFile, IsRefusedByTheNameOfTheTensor) {
  auto tensors = tensors_of(kTiny, TensorType::F32);
  tensors.erase("encoder.norm.bias");
  EXPECT_EQ(refusal_of(tensors), ": tensor encoder.norm.bias is missing");
  tensors = tensors_of(kTiny, TensorType::F32);
  tensors["surplus"] = {TensorType::F32, {1}, std::span(kZeros).first(4)};
  EXPECT_EQ(refusal_of(tensors), ": tensor surplus is not part of the model");
  tensors = tensors_of(kTiny, TensorType::F32);
  tensors["embedding.weight"].shape = {4, 8};
  EXPECT_EQ(refusal_of(tensors),
            ": tensor embedding.weight has shape [4, 8]; the config wants [8, 4]");
  EXPECT_EQ(refusal_of(tensors_of(kTiny, TensorType::I32)),
            ": tensor embedding.weight holds no floating-point numbers (type I32)");
}

}  // namespace convseq
