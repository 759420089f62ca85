#include "convseq/runtime/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"
#include "convseq/spec/model_config.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {

template <class T>
TensorView view_of(TensorType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  return {.type = type, .shape = std::move(shape), .bytes = std::as_bytes(std::span(values))};
}

// A folder with the files of a model, a cache and a checkpoint; quantizing looks at no shapes.
void write_folder(const TempFolder& folder, const std::map<std::string, TensorView>& tensors) {
  fs::create_directories(folder / "m" / "checkpoint-3");
  write_json_file(folder / "m" / kConfigFile, ModelConfig{}.to_json());
  write_safetensors(folder / "m" / "model.safetensors", tensors, {{"who", "we"}});
  folder.file("m/spiece.model", "pieces");
  folder.file("m/task.json", "{}");
  folder.file("m/metrics.jsonl", "{}\n");
}

std::string refusal(const std::map<std::string, TensorView>& tensors) {
  TempFolder folder;
  write_folder(folder, tensors);
  const std::string message =
      message_of<Error>([&] { quantize_model(folder / "m", folder / "out", MatrixType::Int8); });
  EXPECT_FALSE(fs::exists(folder / "out"));
  const std::string file = (folder / "m" / "model.safetensors").string() + ": ";
  return message.starts_with(file) ? message.substr(file.size()) : "elsewhere: " + message;
}

}  // namespace

TEST(QuantizeRows, IsWithinHalfAStepOfEveryValue) {
  constexpr int64_t kRows = 37, kColumns = 65;
  Random random(1);
  std::vector<float> matrix(kRows * kColumns);
  for (size_t i = 0; i < matrix.size(); ++i) {
    const double row_scale = std::pow(10.0, static_cast<double>(i / kColumns % 7) - 3);
    matrix[i] = static_cast<float>((2 * random.uniform() - 1) * row_scale);
  }
  const Int8Matrix result = quantize_rows(matrix, kColumns);
  ASSERT_EQ(result.scales.size(), kRows);
  for (size_t i = 0; i < matrix.size(); ++i) {
    const double scale = result.scales[i / kColumns], value = result.values[i];
    EXPECT_LE(std::abs(value), 127);
    EXPECT_LE(std::abs(value * scale - matrix[i]), scale * 0.50001) << i;
  }
}

TEST(QuantizeRows, TakesTheLargestMagnitudeOfARowAs127AndRoundsTiesToEven) {
  const Int8Matrix result = quantize_rows(std::vector<float>{254, 1, 3, -5, -254, 254, 7, 0}, 4);
  EXPECT_EQ(result.scales, (std::vector<float>{2, 2}));
  EXPECT_EQ(result.values, (std::vector<int8_t>{127, 0, 2, -2, -127, 127, 4, 0}));
}

TEST(QuantizeRows, KeepsRowsOfZerosAndOfTheSmallestNumbers) {
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> matrix = {0, -0.0F, least, -least, 190 * least, -100 * least};
  const Int8Matrix result = quantize_rows(matrix, 2);
  EXPECT_EQ(result.scales, (std::vector<float>{0, 0, least}));
  EXPECT_EQ(result.values, (std::vector<int8_t>{0, 0, 0, 0, 127, -100}));
}

TEST(QuantizeRows, RepeatsItselfOnItsOwnResult) {
  const std::vector<float> matrix = {0.3F, -1.7F, 0.01F, 5.0F, 4.0F, -0.2F};
  const Int8Matrix once = quantize_rows(matrix, 3);
  std::vector<float> restored(matrix.size());
  for (size_t i = 0; i < matrix.size(); ++i) {
    restored[i] = static_cast<float>(once.values[i]) * once.scales[i / 3];
  }
  EXPECT_EQ(quantize_rows(restored, 3).values, once.values);
}

TEST(Quantize, NamesTheMatricesOfLinearLayersAndTheTokenEmbedding) {
  for (const char* name :
       {"embedding.weight", "output.weight", "encoder.blocks.0.mixer.input.weight",
        "decoder.blocks.11.cross.query.weight", "encoder.blocks.0.mixer.taps.weight"}) {
    EXPECT_TRUE(is_quantized(name, {8, 4})) << name;
  }
  for (const char* name : {"classifier.weight", "encoder.positions.weight", "classifier.bias",
                           "decoder.relative_bias.weight", "encoder.blocks.0.mixer.taps"}) {
    EXPECT_FALSE(is_quantized(name, {8, 4})) << name;
  }
  EXPECT_FALSE(is_quantized("encoder.norm.weight", {8}));
}

TEST(QuantizeModel, StoresInt8MatricesWithScalesAndTheRestInFp32) {
  TempFolder folder;
  const std::vector<float> matrix = {1, -127, 3, 50.8F, -25.4F, 0}, norm = {1, 2};
  const std::vector<uint16_t> half = {0x3C00, 0x0001}, brain = {0x3F80, 0xC000};
  const std::vector<double> wide = {0.5, -2};
  write_folder(folder, {{"embedding.weight", view_of(TensorType::F32, {2, 3}, matrix)},
                        {"encoder.norm.weight", view_of(TensorType::F32, {2}, norm)},
                        {"encoder.norm.bias", view_of(TensorType::F16, {2}, half)},
                        {"decoder.norm.weight", view_of(TensorType::BF16, {2}, brain)},
                        {"decoder.norm.bias", view_of(TensorType::F64, {2}, wide)}});
  quantize_model(folder / "m", folder / "out", MatrixType::Int8);
  const auto file = SafetensorsFile::open(folder / "out" / "model.safetensors");
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{
                                  {"format", "pt"}, {"matrices", "int8"}, {"who", "we"}}));
  ASSERT_EQ(file->tensors().size(), 6U);
  const auto expect = [&](const std::string& name, const auto& view) {
    const TensorView& found = file->tensors().at(name);
    EXPECT_EQ(found.type, view.type) << name;
    EXPECT_EQ(found.shape, view.shape) << name;
    EXPECT_TRUE(std::ranges::equal(found.bytes, view.bytes)) << name;
  };
  const std::vector<int8_t> values = {1, -127, 3, 127, -64, 0};
  const std::vector<float> scales = {1, 50.8F / 127}, from_half = {1, std::ldexp(1.0F, -24)};
  const std::vector<float> from_brain = {1, -2}, from_wide = {0.5, -2};
  expect("embedding.weight", view_of(TensorType::I8, {2, 3}, values));
  expect("embedding.weight.scale", view_of(TensorType::F32, {2}, scales));
  expect("encoder.norm.weight", view_of(TensorType::F32, {2}, norm));
  expect("encoder.norm.bias", view_of(TensorType::F32, {2}, from_half));
  expect("decoder.norm.weight", view_of(TensorType::F32, {2}, from_brain));
  expect("decoder.norm.bias", view_of(TensorType::F32, {2}, from_wide));
}

TEST(QuantizeModel, RoundsToBf16WithTiesToEven) {
  TempFolder folder;
  const std::vector<uint32_t> bits = {0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0xBF808001};
  write_folder(folder, {{"output.weight", view_of(TensorType::F32, {1, 5}, bits)}});
  quantize_model(folder / "m", folder / "out", MatrixType::Bf16);
  const auto file = SafetensorsFile::open(folder / "out" / "model.safetensors");
  const std::vector<uint16_t> rounded = {0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xBF81};
  EXPECT_EQ(file->tensors().at("output.weight").type, TensorType::BF16);
  EXPECT_TRUE(std::ranges::equal(file->tensors().at("output.weight").bytes,
                                 std::as_bytes(std::span(rounded))));
}

TEST(QuantizeModel, TakesTheFilesOfTheModelAlongAndNoOthers) {
  TempFolder folder;
  const std::vector<float> matrix(10'000, 0.25F);
  write_folder(folder, {{"embedding.weight", view_of(TensorType::F32, {10, 1000}, matrix)}});
  const QuantizedSize size = quantize_model(folder / "m", folder / "out", MatrixType::Int8);
  std::vector<std::string> names;
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    names.push_back(entry.path().filename());
    bytes += static_cast<int64_t>(entry.file_size());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"config.json", "model.safetensors", "spiece.model",
                                             "task.json"}));
  EXPECT_EQ(read_text_file(folder / "out" / "spiece.model"), "pieces");
  EXPECT_EQ(ModelConfig::load(folder / "out" / kConfigFile), ModelConfig{});
  EXPECT_EQ(size.after, bytes);
  EXPECT_LT(size.after, size.before / 3);
}

TEST(QuantizeModel, RefusesWeightsThatItCannotQuantize) {
  const std::vector<int8_t> bytes = {1, 2};
  const std::vector<float> poison = {1, NAN, INFINITY};
  EXPECT_EQ(refusal({{"output.weight", view_of(TensorType::I8, {1, 2}, bytes)}}),
            "tensor output.weight is int8 already; quantize the model that this one was made from");
  EXPECT_EQ(refusal({{"output.weight", view_of(TensorType::F8E4M3, {1, 2}, bytes)}}),
            "tensor output.weight is of type F8_E4M3; allowed: F32, BF16, F16, F64");
  EXPECT_EQ(refusal({{"norm.bias", view_of(TensorType::F32, {3}, poison)}}),
            "tensor norm.bias holds values that are not finite (2 of 3); use another copy of the "
            "file");
}

TEST(QuantizeModel, RefusesFoldersThatAreNoModels) {
  TempFolder folder;
  const auto refused = [&] {
    return message_of<Error>(
        [&] { quantize_model(folder / "m", folder / "out", MatrixType::Int8); });
  };
  EXPECT_EQ(refused(), (folder / "m").string() + ": no such model folder");
  write_folder(folder, {});
  const std::string file = (folder / "m" / "model.safetensors").string();
  fs::resize_file(file, 6);
  EXPECT_TRUE(refused().starts_with(file + ": ")) << refused();
  fs::remove(folder / "m" / kConfigFile);
  EXPECT_TRUE(refused().starts_with((folder / "m" / kConfigFile).string() + ": ")) << refused();
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace convseq
