#include "convseq/model/checkpoint.h"

#include "convseq/runtime/quantize.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {
Seq2Seq small_model() {
  Seq2Seq model(find_model_config("paper-light-tiny",
                                  {"vocab_size=50", "d_model=8", "d_ff=8", "conv_heads=2"}));
  model.initialise(1);
  return model;
}
}  // namespace

TEST(TensorFile, KeepsEveryType) {
  TempFolder folder;
  TensorFile file{.tensors = {}, .metadata = {{"who", "we"}}};
  for (auto type :
       {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
        torch::kFloat16, torch::kBFloat16, torch::kFloat32, torch::kFloat64}) {
    file.tensors[torch::toString(type)] = (torch::arange(6).view({2, 3}) % 2).to(type);
  }
  file.tensors["scalar"] = torch::tensor(2.5);
  file.tensors["empty"] = torch::empty({0, 4});
  file.tensors["transposed"] = torch::arange(6).view({2, 3}).t();
  save_tensors(folder / "a.safetensors", file);
  const TensorFile read = load_tensors(folder / "a.safetensors");
  EXPECT_EQ(read.metadata, file.metadata);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(read.tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(read.tensors.at(name), tensor)) << name;
  }
}

TEST(TensorFile, OutlivesTheNameOfItsFile) {
  TempFolder folder;
  save_tensors(folder / "a.safetensors", {.tensors = {{"x", torch::arange(1000)}}, .metadata = {}});
  const torch::Tensor x = load_tensors(folder / "a.safetensors").tensors.at("x");
  fs::remove(folder / "a.safetensors");
  EXPECT_EQ(x.sum().item<int64_t>(), 499'500);
}

TEST(Checkpoint, LoadsWhatItSaved) {
  TempFolder folder;
  const Seq2Seq model = small_model();
  save_model(folder / "m", model);
  const auto loaded = load_model(folder / "m");
  EXPECT_EQ(loaded->config(), model.config());
  for (const auto& [name, tensor] : parameters_of(model)) {
    EXPECT_TRUE(torch::equal(parameters_of(*loaded).at(name), tensor)) << name;
  }
  EXPECT_EQ(load_model(folder / "m", torch::kBFloat16)->parameters()[0].scalar_type(),
            torch::kBFloat16);
}

TEST(Checkpoint, NamesTheTensorThatDoesNotFit) {
  TempFolder folder;
  const Seq2Seq model = small_model();
  const auto refusal = [&](const std::function<void(TensorMap&)>& spoil) {
    TensorMap weights = parameters_of(model);
    spoil(weights);
    save_model_folder(folder / "m", {.config = model.config(), .weights = weights, .extras = {}});
    return message_of<Error>([&] { load_model(folder / "m"); });
  };
  const std::string file = (folder / "m" / "model.safetensors").string() + ": ";
  EXPECT_EQ(refusal([](TensorMap& w) { w.erase("decoder.norm.bias"); }),
            file + "tensor decoder.norm.bias is missing");
  EXPECT_EQ(refusal([](TensorMap& w) { w["extra"] = torch::zeros({1}); }),
            file + "tensor extra is not part of the model");
  EXPECT_EQ(refusal([](TensorMap& w) { w["encoder.norm.bias"] = torch::zeros({9}); }),
            file + "tensor encoder.norm.bias has shape [9]; the config wants [8]");
  EXPECT_EQ(
      refusal([](TensorMap& w) { w["encoder.norm.bias"] = torch::zeros({8}, torch::kInt64); }),
      file + "tensor encoder.norm.bias holds no floating-point numbers");
}

TEST(Checkpoint, RefusesWeightsThatAreNotFinite) {
  TempFolder folder;
  const Seq2Seq model = small_model();
  const std::string file = (folder / "m" / "model.safetensors").string() + ": ";
  for (const double poison : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
      TensorMap weights = parameters_of(model);
      weights["encoder.norm.bias"] = torch::zeros({8}, type);
      weights["encoder.norm.bias"].slice(0, 2, 4).fill_(poison);
      save_model_folder(folder / "m", {.config = model.config(), .weights = weights, .extras = {}});
      EXPECT_EQ(message_of<Error>([&] { load_model(folder / "m"); }),
                file +
                    "tensor encoder.norm.bias holds values that are not finite (2 of 8); use "
                    "another copy of the file");
    }
  }
}

TEST(Checkpoint, LoadsMatricesInInt8AndBf16) {
  TempFolder folder;
  const Seq2Seq model = small_model();
  save_model(folder / "m", model);
  quantize_model(folder / "m", folder / "int8", MatrixType::Int8);
  quantize_model(folder / "m", folder / "bf16", MatrixType::Bf16);
  const TensorMap int8 = parameters_of(*load_model(folder / "int8"));
  const TensorMap bf16 = parameters_of(*load_model(folder / "bf16"));
  for (const auto& [name, tensor] : parameters_of(model)) {
    if (!is_quantized(name, tensor.sizes().vec())) {
      EXPECT_TRUE(torch::equal(int8.at(name), tensor)) << name;
      EXPECT_TRUE(torch::equal(bf16.at(name), tensor)) << name;
      continue;
    }
    const auto half_step = std::get<0>(tensor.abs().max(1, /*keepdim=*/true)) / 254;
    EXPECT_TRUE(((int8.at(name) - tensor).abs() <= half_step * 1.0001).all().item<bool>()) << name;
    EXPECT_TRUE(torch::equal(bf16.at(name), tensor.to(torch::kBFloat16).to(torch::kFloat32)))
        << name;
  }
}

TEST(Checkpoint, NamesTheInt8MatrixWhoseScalesAreWrong) {
  TempFolder folder;
  const Seq2Seq model = small_model();
  save_model(folder / "m", model);
  quantize_model(folder / "m", folder / "int8", MatrixType::Int8);
  const fs::path path = folder / "int8" / kWeightsFile;
  const TensorMap good = load_tensors(path).tensors;
  const auto refusal = [&](const std::function<void(TensorMap&)>& spoil) {
    TensorMap weights = good;
    spoil(weights);
    save_tensors(path, {.tensors = weights, .metadata = {}});
    return message_of<Error>([&] { load_model(folder / "int8"); });
  };
  const std::string file = path.string() + ": tensor ", name = "decoder.blocks.1.ffn.up.weight";
  const std::string scale = name + ".scale";
  EXPECT_EQ(refusal([&](TensorMap& w) { w.erase(scale); }),
            file + name + " is int8, but its scales " + scale + " are missing");
  EXPECT_EQ(refusal([&](TensorMap& w) { w[scale] = torch::ones({7}); }),
            file + scale + " has shape [7]; " + name + " of shape [8, 8] needs [8]");
  EXPECT_EQ(refusal([&](TensorMap& w) {
              w[scale] = torch::ones({8, 1});
            }),
            file + scale + " has shape [8, 1]; " + name + " of shape [8, 8] needs [8]");
  EXPECT_EQ(refusal([&](TensorMap& w) { w[scale] = torch::ones({8}, torch::kFloat64); }),
            file + scale + " is not of type F32");
  for (const float poison : {NAN, INFINITY, -1.0F}) {
    EXPECT_EQ(refusal([&](TensorMap& w) { w[scale] = torch::full({8}, poison); }),
              file + scale +
                  " holds values that are negative or not finite; use another copy of the file");
  }
  EXPECT_EQ(refusal([&](TensorMap& w) { w[name] = w[name].flatten(); }),
            file + name + " is int8 and has shape [64]; only matrices are int8");
  EXPECT_EQ(refusal([&](TensorMap& w) {
              w[name] = torch::ones({8, 8});
            }),
            file + scale + " is not part of the model");
  EXPECT_EQ(refusal([&](TensorMap& w) {
              w[name] = w[name].slice(0, 0, 4);
              w[scale] = w[scale].slice(0, 0, 4);
            }),
            file + name + " has shape [4, 8]; the config wants [8, 8]");
}

TEST(Checkpoint, NamesTheMissingFolderAndFile) {
  TempFolder folder;
  EXPECT_EQ(message_of<Error>([&] { load_model(folder / "none"); }),
            (folder / "none").string() + ": no such model folder");
  fs::create_directory(folder / "bare");
  EXPECT_EQ(
      message_of<Error>([&] { load_model(folder / "bare"); }),
      (folder / "bare" / "config.json").string() + ": cannot open: No such file or directory");
}

TEST(Checkpoint, TakesTheTokenizerAlong) {
  TempFolder folder;
  fs::create_directory(folder / "from");
  folder.file("from/spiece.model", "pieces");
  const Seq2Seq model = small_model();
  save_model_folder(folder / "m", {.config = model.config(),
                                   .weights = parameters_of(model),
                                   .extras = {.tokenizer_from = folder / "from"}});
  EXPECT_EQ(read_text_file(folder / "m" / "spiece.model"), "pieces");
}

}  // namespace convseq
