#include "convseq/runtime/weights/stored_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/model_table.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::model_cases;
using testing::random_weights;
using testing::TempFolder;
using testing::WeightsFile;

namespace {

const std::string kUp = "encoder.blocks.0.ffn.up.weight";

ModelConfig light() { return model_cases()[3].config; }

// What loading says of weights that were changed.
std::string refusal(const WeightsFile& file) {
  TempFolder folder;
  file.write(folder / "model", light());
  return message_of<Error>([&] {
    const StoredWeights stored(folder / "model");
    for (const auto& [name, shape] : list_parameters(light())) stored.values(name);
  });
}

TEST(StoredWeights, ReadEveryTypeOfNumber) {
  TempFolder folder;
  WeightsFile file = random_weights(light());
  const std::string name = "encoder.norm.bias";
  const std::vector<float> values{0, 1, -2, 0.5, -0.25, 3, 1024, -7, 0.125, 6, -5.5, 12};
  file.set(name, TensorType::F32, {12}, values);
  file.write(folder / "fp32", light());
  file.set(name, TensorType::F64, {12}, std::vector<double>(values.begin(), values.end()));
  file.write(folder / "fp64", light());
  file.set(name, TensorType::F16, {12},
           std::vector<uint16_t>{0x0000, 0x3c00, 0xc000, 0x3800, 0xb400, 0x4200, 0x6400, 0xc700,
                                 0x3000, 0x4600, 0xc580, 0x4a00});
  file.write(folder / "fp16", light());
  file.set(name, TensorType::BF16, {12},
           std::vector<uint16_t>{0x0000, 0x3f80, 0xc000, 0x3f00, 0xbe80, 0x4040, 0x4480, 0xc0e0,
                                 0x3e00, 0x40c0, 0xc0b0, 0x4140});
  file.write(folder / "bf16", light());
  for (const char* type : {"fp32", "fp64", "fp16", "bf16"}) {
    EXPECT_EQ(StoredWeights(folder / type).values(name), values) << type;
  }
}

TEST(StoredWeights, MultiplyInt8RowsByTheirScales) {
  TempFolder folder;
  WeightsFile file = random_weights(light());
  std::vector<int8_t> integers(16 * 12);
  std::vector<float> scales(16), expected;
  for (size_t i = 0; i < integers.size(); ++i) {
    integers[i] = static_cast<int8_t>(i % 255 - 127);
    scales[i / 12] = 0.5f * static_cast<float>(i / 12);
    expected.push_back(static_cast<float>(integers[i]) * scales[i / 12]);
  }
  file.set(kUp, TensorType::I8, {16, 12}, integers);
  file.set(kUp + ".scale", TensorType::F32, {16}, scales);
  file.write(folder / "model", light());
  const StoredWeights stored(folder / "model");
  EXPECT_TRUE(stored.tensor(kUp).is_int8());
  EXPECT_EQ(stored.values(kUp), expected);
}

TEST(StoredWeights, RefuseNegativeScales) {
  WeightsFile file = random_weights(light(), TensorType::I8);
  file.set(kUp + ".scale", TensorType::F32, {16}, std::vector<float>(16, -0.5F));
  EXPECT_NE(refusal(file).find(kUp + ".scale has a scale of -0.5; allowed: 0 and above"),
            std::string::npos);
}

// As cp does; convseq and other careful programs replace a file instead.
TEST(StoredWeights, NoticeAFileThatIsOverwrittenInPlace) {
  TempFolder folder;
  random_weights(light(), TensorType::F32, 3).write(folder / "model", light());
  const auto file = folder / "model" / "model.safetensors";
  const StoredWeights before(folder / "model");
  EXPECT_NO_THROW(before.require_unchanged());
  random_weights(light(), TensorType::F32, 4).write(folder / "model", light());  // replaces it
  EXPECT_NO_THROW(before.require_unchanged());
  const StoredWeights stored(folder / "model");
  std::filesystem::last_write_time(
      file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  EXPECT_EQ(message_of<Error>([&] { stored.require_unchanged(); }),
            file.string() + ": was overwritten while it was in use; start again");
}

TEST(StoredWeights, RefuseWhatIsNotTheModel) {
  const WeightsFile good = random_weights(light(), TensorType::I8);
  EXPECT_EQ(refusal(good), "");

  WeightsFile file = good;
  file.tensors.erase("encoder.norm.bias");
  EXPECT_NE(refusal(file).find("tensor encoder.norm.bias is missing"), std::string::npos);

  file = good;
  file.set("encoder.norm.bias", TensorType::F32, {2, 6}, std::vector<float>(12));
  EXPECT_NE(refusal(file).find("encoder.norm.bias has shape [2, 6]; the config wants [12]"),
            std::string::npos);

  file = good;
  file.set("encoder.norm.bias", TensorType::I32, {12}, std::vector<int32_t>(12));
  EXPECT_NE(refusal(file).find("encoder.norm.bias holds no floating-point numbers (type I32)"),
            std::string::npos);

  file = good;
  file.set("extra", TensorType::F32, {1}, std::vector<float>(1));
  EXPECT_NE(refusal(file).find("tensor extra is not part of the model"), std::string::npos);

  file = good;
  file.tensors.erase(kUp + ".scale");
  EXPECT_NE(refusal(file).find("is int8, but tensor " + kUp + ".scale is missing"),
            std::string::npos);

  file = good;
  file.set(kUp + ".scale", TensorType::F32, {12}, std::vector<float>(12));
  EXPECT_NE(refusal(file).find(kUp + ".scale is F32 [12]"), std::string::npos);

  file = good;
  file.set(kUp + ".scale", TensorType::F32, {16}, std::vector<float>(16, INFINITY));
  EXPECT_NE(refusal(file).find("not finite (16 of 16)"), std::string::npos);

  file = good;
  file.set("encoder.norm.bias", TensorType::F32, {12}, std::vector<float>(12, NAN));
  EXPECT_NE(refusal(file).find("encoder.norm.bias holds values that are not finite (12 of 12)"),
            std::string::npos);
}

TEST(StoredWeights, HaveAnotherFingerprintOnceTheyAreOthers) {
  TempFolder folder;
  random_weights(light(), TensorType::F32, 3).write(folder / "one", light());
  const std::string one = StoredWeights(folder / "one").fingerprint();
  EXPECT_EQ(StoredWeights(folder / "one").fingerprint(), one);
  const auto time = std::filesystem::last_write_time(folder / "one" / "model.safetensors");
  random_weights(light(), TensorType::F32, 4).write(folder / "two", light());
  std::filesystem::last_write_time(folder / "two" / "model.safetensors", time);
  EXPECT_NE(StoredWeights(folder / "two").fingerprint(), one);
}

}  // namespace
}  // namespace convseq
