#include "convseq/runtime/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/runtime/weights/stored_weights.h"
#include "model/model_table.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::model_cases;
using testing::random_weights;
using testing::TempFolder;
using testing::WeightsFile;

namespace {

const std::string kEmbedding = "embedding.weight";  // [19, 12]

ModelConfig light() { return model_cases()[3].config; }

// A folder with the files of a model, a log and a checkpoint.
void write_folder(const TempFolder& folder, const WeightsFile& weights) {
  weights.write(folder / "m", light());
  fs::create_directories(folder / "m" / "checkpoint-3");
  folder.file("m/spiece.model", "pieces");
  folder.file("m/task.json", "{}");
  folder.file("m/metrics.jsonl", "{}\n");
}

std::string refusal(const WeightsFile& weights, const ModelConfig& config = light()) {
  TempFolder folder;
  weights.write(folder / "m", config);
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
  WeightsFile weights = random_weights(light());
  std::vector<float> matrix(19 * 12, 0.25F);
  std::copy_n(std::to_array<float>({1, -127, 3}).begin(), 3, matrix.begin());
  std::copy_n(std::to_array<float>({50.8F, -25.4F, 0}).begin(), 3, matrix.begin() + 12);
  weights.set(kEmbedding, TensorType::F32, {19, 12}, matrix);
  std::vector<uint16_t> half(12, 0x3C00), brain(12, 0x3F80);
  half[1] = 0x0001, brain[1] = 0xC000;
  std::vector<double> wide(12, 0.5);
  weights.set("encoder.norm.bias", TensorType::F16, {12}, half);
  weights.set("decoder.norm.weight", TensorType::BF16, {12}, brain);
  weights.set("decoder.norm.bias", TensorType::F64, {12}, wide);
  weights.metadata = {{"who", "we"}};
  write_folder(folder, weights);
  quantize_model(folder / "m", folder / "out", MatrixType::Int8);

  const StoredWeights stored(folder / "out");
  EXPECT_EQ(stored.metadata(), (std::map<std::string, std::string>{
                                   {"format", "pt"}, {"matrices", "int8"}, {"who", "we"}}));
  for (const auto& [name, shape] : list_parameters(light())) {
    EXPECT_EQ(stored.tensor(name).view.type,
              is_quantized(name, shape) ? TensorType::I8 : TensorType::F32)
        << name;
  }
  const StoredTensor embedding = stored.tensor(kEmbedding);
  EXPECT_EQ(embedding.scales[0], 1);
  EXPECT_EQ(embedding.scales[1], 50.8F / 127);
  const auto integers = [&](size_t first) {
    const auto* bytes = reinterpret_cast<const int8_t*>(embedding.view.bytes.data()) + first;
    return std::vector<int8_t>(bytes, bytes + 3);
  };
  EXPECT_EQ(integers(0), (std::vector<int8_t>{1, -127, 3}));
  EXPECT_EQ(integers(12), (std::vector<int8_t>{127, -64, 0}));
  EXPECT_EQ(stored.values("encoder.norm.bias")[1], std::ldexp(1.0F, -24));
  EXPECT_EQ(stored.values("decoder.norm.weight")[1], -2);
  EXPECT_EQ(stored.values("decoder.norm.bias"), std::vector<float>(12, 0.5F));
}

TEST(QuantizeModel, RoundsToBf16WithTiesToEven) {
  TempFolder folder;
  WeightsFile weights = random_weights(light());
  std::vector<uint32_t> bits(19 * 12, 0x3F800000);
  std::copy_n(std::to_array<uint32_t>({0x3F808000, 0x3F818000, 0x3F808001, 0xBF808001}).begin(), 4,
              bits.begin() + 1);
  weights.set(kEmbedding, TensorType::F32, {19, 12}, bits);
  write_folder(folder, weights);
  quantize_model(folder / "m", folder / "out", MatrixType::Bf16);
  const StoredWeights stored(folder / "out");
  const TensorView rounded = stored.tensor(kEmbedding).view;
  EXPECT_EQ(rounded.type, TensorType::BF16);
  const std::vector<uint16_t> expected = {0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xBF81};
  EXPECT_TRUE(std::ranges::equal(rounded.bytes.first(10), std::as_bytes(std::span(expected))));
}

TEST(QuantizeModel, TakesTheFilesOfTheModelAlongAndNoOthers) {
  TempFolder folder;
  ModelConfig config = light();
  config.vocab_size = 2000;
  config.d_model = 72;
  WeightsFile weights = random_weights(config);
  write_folder(folder, weights);
  weights.write(folder / "m", config);
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
  EXPECT_EQ(ModelConfig::load(folder / "out" / kConfigFile), config);
  EXPECT_EQ(size.after, bytes);
  EXPECT_LT(size.after, size.before / 3);
}

TEST(QuantizeModel, RefusesWeightsThatItCannotQuantize) {
  EXPECT_EQ(
      refusal(random_weights(light(), TensorType::I8)),
      "tensor embedding.weight is int8 already; quantize the model that this one was made from");
  const auto with = [](const std::string& name, TensorType type, const auto& values) {
    WeightsFile weights = random_weights(light());
    weights.set(name, type, {12}, values);
    return weights;
  };
  EXPECT_EQ(refusal(with("encoder.norm.bias", TensorType::F8E4M3, std::vector<uint8_t>(12))),
            "tensor encoder.norm.bias is of type F8_E4M3; allowed: F32, BF16, F16, F64, I8");
  std::vector<float> poison(12);
  poison[1] = NAN, poison[2] = INFINITY;
  EXPECT_EQ(refusal(with("encoder.norm.bias", TensorType::F32, poison)),
            "tensor encoder.norm.bias holds values that are not finite (2 of 12); use another copy "
            "of the file");
}

TEST(QuantizeModel, RefusesWeightsOfAnotherModelByTheNameOfTheTensor) {
  ModelConfig config = light();
  config.vocab_size = 20;
  EXPECT_EQ(refusal(random_weights(light()), config),
            "tensor embedding.weight has shape [19, 12]; the config wants [20, 12]");
  config = light();
  config.classes = 3;
  EXPECT_EQ(refusal(random_weights(light()), config), "tensor classifier.weight is missing");
  EXPECT_EQ(refusal(random_weights(config)), "tensor classifier.bias is not part of the model");
}

TEST(QuantizeModel, RefusesFoldersThatAreNoModels) {
  TempFolder folder;
  const auto refused = [&] {
    return message_of<Error>(
        [&] { quantize_model(folder / "m", folder / "out", MatrixType::Int8); });
  };
  EXPECT_EQ(refused(), (folder / "m").string() + ": no such model folder");
  write_folder(folder, random_weights(light()));
  const std::string file = (folder / "m" / "model.safetensors").string();
  fs::resize_file(file, 6);
  EXPECT_TRUE(refused().starts_with(file + ": ")) << refused();
  fs::remove(folder / "m" / kConfigFile);
  EXPECT_TRUE(refused().starts_with((folder / "m" / kConfigFile).string() + ": ")) << refused();
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace convseq
