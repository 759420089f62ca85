#include "convseq/model/hf_t5.h"

#include "temp_folder.h"
#include "tensor_checks.h"

// Compares with Hugging Face transformers, run by tests/goldens/make_goldens.py.
namespace convseq {
namespace fs = std::filesystem;
using testing::expect_close;
using testing::message_of;
using testing::TempFolder;

namespace {

fs::path golden(const std::string& version) {
  return fs::path(CONVSEQ_SOURCE_DIR) / "tests/goldens" / ("hf_t5_" + version);
}

// Copies a golden folder, so that a test may modify it.
void copy_golden(const std::string& version, const fs::path& to,
                 const std::function<void(Json&)>& change = {}) {
  fs::copy(golden(version), to);
  Json config = read_json_file(to / "config.json");
  if (change) change(config);
  write_json_file(to / "config.json", config);
}

torch::Tensor logits_of(const fs::path& folder, const TensorMap& t) {
  const torch::NoGradGuard no_grad;
  return load_model(folder)->forward(t.at("source"), {t.at("source_lengths")}, t.at("target"));
}

class HfT5 : public ::testing::TestWithParam<std::string> {};

TEST_P(HfT5, ConvertedModelGivesTransformersNumbers) {
  const torch::NoGradGuard no_grad;
  TempFolder folder;
  save_model_folder(folder / "converted", read_hf_t5(golden(GetParam())));
  const auto model = load_model(folder / "converted");
  const TensorMap t = load_tensors(golden(GetParam()) / "expected.safetensors").tensors;
  const nn::Lengths source_lengths{t.at("source_lengths")}, target_lengths{t.at("target_lengths")};
  const auto encoded = model->encode(t.at("source"), source_lengths);
  const auto logits = model->logits(model->decode(t.at("target"), encoded, source_lengths));
  const auto real_source = source_lengths.mask(encoded.size(1));
  const auto real_target = target_lengths.mask(logits.size(1));
  expect_close(encoded.index({real_source}), t.at("encoded").index({real_source}), 1e-5, "encoded");
  expect_close(logits.index({real_target}), t.at("logits").index({real_target}), 1e-5, "logits");
}

INSTANTIATE_TEST_SUITE_P(Versions, HfT5, ::testing::Values("v1_0", "v1_1"),
                         [](const auto& each) { return each.param; });

}  // namespace

TEST(HfT5Output, TiedButUnscaledBecomesASeparateOutput) {
  // transformers 5 can save such a model. The scaled logits are the unscaled ones divided by
  // sqrt(d_model).
  TempFolder folder;
  copy_golden("v1_0", folder / "hf", [](Json& config) { config["scale_decoder_outputs"] = false; });
  const ModelFolder unscaled = read_hf_t5(folder / "hf");
  EXPECT_FALSE(unscaled.config.tie_embeddings);
  save_model_folder(folder / "unscaled", unscaled);
  save_model_folder(folder / "scaled", read_hf_t5(golden("v1_0")));
  const TensorMap t = load_tensors(golden("v1_0") / "expected.safetensors").tensors;
  const double root = std::sqrt(static_cast<double>(unscaled.config.d_model));
  expect_close(logits_of(folder / "unscaled", t) / root, logits_of(folder / "scaled", t), 1e-5);
}

TEST(HfT5Output, SeparateButScaledCarriesTheScaleInTheMatrix) {
  TempFolder folder;
  copy_golden("v1_1", folder / "hf", [](Json& config) { config["scale_decoder_outputs"] = true; });
  save_model_folder(folder / "scaled", read_hf_t5(folder / "hf"));
  save_model_folder(folder / "unscaled", read_hf_t5(golden("v1_1")));
  const TensorMap t = load_tensors(golden("v1_1") / "expected.safetensors").tensors;
  const double root =
      std::sqrt(static_cast<double>(load_model(folder / "scaled")->config().d_model));
  expect_close(logits_of(folder / "scaled", t) * root, logits_of(folder / "unscaled", t), 1e-5);
}

TEST(HfT5Shards, AreReadThroughTheirIndex) {
  TempFolder folder;
  copy_golden("v1_0", folder / "hf");
  const TensorMap all = load_tensors(golden("v1_0") / kWeightsFile).tensors;
  TensorFile first, second;
  Json map = Json::object();
  for (const auto& [name, tensor] : all) {
    const bool early = name < "encoder";
    (early ? first : second).tensors[name] = tensor;
    map[name] = early ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  }
  save_tensors(folder / "hf" / "model-00001-of-00002.safetensors", first);
  save_tensors(folder / "hf" / "model-00002-of-00002.safetensors", second);
  write_json_file(folder / "hf" / "model.safetensors.index.json", {{"weight_map", map}});
  fs::remove(folder / "hf" / kWeightsFile);
  const ModelFolder sharded = read_hf_t5(folder / "hf"), whole = read_hf_t5(golden("v1_0"));
  ASSERT_EQ(sharded.weights.size(), whole.weights.size());
  for (const auto& [name, tensor] : whole.weights)
    EXPECT_TRUE(torch::equal(sharded.weights.at(name), tensor));
}

// The checkpoints published by Google (t5-small, t5-base, …) hold this bias.
TEST(HfT5Folder, LeavesOutABiasThatNothingComputesWith) {
  TempFolder folder;
  copy_golden("v1_0", folder / "hf");
  TensorMap weights = load_tensors(golden("v1_0") / kWeightsFile).tensors;
  weights["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] =
      torch::ones({32, 4});
  save_tensors(folder / "hf" / kWeightsFile, {.tensors = weights, .metadata = {}});
  const ModelFolder found = read_hf_t5(folder / "hf"), expected = read_hf_t5(golden("v1_0"));
  EXPECT_EQ(found.weights.size(), expected.weights.size());
}

TEST(HfT5Folder, TakesNullForADefault) {
  TempFolder folder;
  copy_golden("v1_0", folder / "hf", [](Json& config) {
    config["num_decoder_layers"] = nullptr;
    config["decoder_start_token_id"] = nullptr;
  });
  TensorMap weights = load_tensors(golden("v1_0") / kWeightsFile).tensors;
  std::erase_if(weights,
                [](const auto& each) { return each.first.starts_with("decoder.block.2."); });
  save_tensors(folder / "hf" / kWeightsFile, {.tensors = weights, .metadata = {}});
  EXPECT_EQ(read_hf_t5(folder / "hf").config.decoder_layers, 2);  // defaults to num_layers
}

TEST(HfT5Folder, NamesTheFormatsThatItReads) {
  for (const char* file : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5"}) {
    TempFolder folder;
    copy_golden("v1_0", folder / "hf");
    fs::rename(folder / "hf" / kWeightsFile, folder / "hf" / file);
    EXPECT_EQ(message_of<Error>([&] { read_hf_t5(folder / "hf"); }),
              (folder / "hf").string() + ": holds " + file +
                  "; weights are read from model.safetensors, or from shards with "
                  "model.safetensors.index.json. Save the model again with transformers: "
                  "model.save_pretrained(folder, safe_serialization=True)");
  }
}

TEST(HfT5Folder, RefusesWeightsThatAreNotFinite) {
  TempFolder folder;
  copy_golden("v1_0", folder / "hf");
  TensorMap weights = load_tensors(golden("v1_0") / kWeightsFile).tensors;
  weights["shared.weight"] = torch::full_like(weights["shared.weight"], std::nan(""));
  save_tensors(folder / "hf" / kWeightsFile, {.tensors = weights, .metadata = {}});
  EXPECT_NE(message_of<Error>([&] {
              read_hf_t5(folder / "hf");
            }).find("tensor embedding.weight holds values that are not finite"),
            std::string::npos);
}

TEST(HfT5Folder, RefusesWhatItDoesNotCompute) {
  TempFolder folder;
  const auto message = [&](const std::string& name, const std::function<void(Json&)>& change) {
    copy_golden("v1_0", folder / name, change);
    return message_of<Error>([&] { read_hf_t5(folder / name); });
  };
  const auto at = [&](const std::string& name) {
    return (folder / name / "config.json").string() + ": ";
  };
  EXPECT_EQ(message("silu", [](Json& c) { c["feed_forward_proj"] = "gated-silu"; }),
            at("silu") + "feed_forward_proj is \"gated-silu\"; allowed: relu, gated-gelu");
  EXPECT_EQ(message("bert", [](Json& c) { c["model_type"] = "bert"; }),
            at("bert") + "model_type is \"bert\"; allowed: t5");
  EXPECT_EQ(message("no-heads", [](Json& c) { c["num_heads"] = 0; }),
            at("no-heads") + "heads is 0; allowed: 1 to 16777216");
  EXPECT_EQ(message("layers", [](Json& c) { c["num_layers"] = 3; }),
            (folder / "layers").string() +
                ": tensor encoder.block.2.layer.0.SelfAttention.q.weight is missing");
  EXPECT_EQ(message("fewer", [](Json& c) { c["num_layers"] = 1; }),
            (folder / "fewer").string() +
                ": tensor encoder.block.1.layer.0.SelfAttention.k.weight is not part of a T5");
  EXPECT_EQ(message("wide", [](Json& c) { c["d_ff"] = 21; }),
            (folder / "wide").string() +
                ": tensor decoder.blocks.0.ffn.down.weight has shape [16, 20]; the config wants "
                "[16, 21]");
  EXPECT_EQ(message_of<Error>([&] { read_hf_t5(folder / "none"); }),
            (folder / "none").string() + ": no such folder");
}

}  // namespace convseq
