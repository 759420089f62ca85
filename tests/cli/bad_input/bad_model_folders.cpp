// Model folders with damaged configs, weights, tokenizers and calibrations.
#include <limits>

#include "bad_input_folder.h"

namespace convseq::testing {
namespace fs = std::filesystem;

void BadInputFolder::model(const std::string& name,
                           const std::function<void(Json&)>& change) const {
  copy("model", "models/" + name);
  Json json = Json::parse(text("model/config.json"));
  change(json);
  file("models/" + name + "/config.json", json.dump(2));
}

void BadInputFolder::weights(const std::string& name,
                             const std::function<void(Tensors&)>& change) const {
  copy("model", "models/" + name);
  const auto good = SafetensorsFile::open(path() / "model/model.safetensors");
  Tensors tensors = good->tensors();
  change(tensors);
  write_safetensors(path() / "models" / name / "model.safetensors", tensors);
}

void BadInputFolder::make_models() const {
  const auto same = [](Json&) {};
  const std::string good = text("model/model.safetensors");
  for (const char* name : {"no-config", "no-weights", "cut-weights", "empty-weights", "long-header",
                           "no-tokenizer", "cut-tokenizer"}) {
    model(name, same);
  }
  fs::remove(path() / "models/no-config/config.json");
  fs::remove(path() / "models/no-weights/model.safetensors");
  fs::remove(path() / "models/no-tokenizer/spiece.model");
  file("models/cut-weights/model.safetensors", good.substr(0, good.size() / 2));
  file("models/empty-weights/model.safetensors", "");
  file("models/long-header/model.safetensors",
       std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  file("models/cut-tokenizer/spiece.model", text("model/spiece.model").substr(0, 5000));
  model("wide", [](Json& config) { config["d_model"] = 32; });
  model("vocabulary", [](Json& config) { config["vocab_size"] = 384; });
  model("bad-task", same);
  file("models/bad-task/task.json", "{\"name\": 3}");

  std::vector<float> numbers(512 * 16, 0.5f);
  const auto view = [&] { return std::as_bytes(std::span(numbers)); };
  const std::string embedding = "embedding.weight";
  const auto first = [](Tensors& tensors) -> TensorView& { return tensors.begin()->second; };
  const auto with_first = [&](const char* name, float value) {
    weights(name, [&](Tensors& tensors) {
      numbers[0] = value;
      first(tensors).bytes = view().first(first(tensors).bytes.size());
    });
  };
  with_first("nan", std::numeric_limits<float>::quiet_NaN());
  weights("shape", [&](Tensors& tensors) {
    std::swap(tensors.at(embedding).shape[0], tensors.at(embedding).shape[1]);
  });
  weights("dtype", [&](Tensors& tensors) { first(tensors).type = TensorType::I32; });
  weights("missing", [&](Tensors& tensors) { tensors.erase(embedding); });
  weights("extra", [&](Tensors& tensors) {
    tensors["surplus"] = {TensorType::F32, {2}, view().first(8)};
  });

  for (const char* name : {"bert", "sizes", "bin", "missing", "index"}) {
    copy("hf", std::string("hf-broken/") + name);
  }
  const auto hf_config = [&](const std::string& name, const char* key, const Json& value) {
    Json json = Json::parse(text("hf/config.json"));
    json[key] = value;
    file("hf-broken/" + name + "/config.json", json.dump());
  };
  hf_config("bert", "model_type", "bert");
  hf_config("sizes", "d_model", 1 << 20);
  fs::rename(path() / "hf-broken/bin/model.safetensors",
             path() / "hf-broken/bin/pytorch_model.bin");
  const auto hf = SafetensorsFile::open(path() / "hf/model.safetensors");
  Tensors tensors = hf->tensors();
  tensors.erase("shared.weight");
  write_safetensors(path() / "hf-broken/missing/model.safetensors", tensors);
  fs::remove(path() / "hf-broken/index/model.safetensors");
  file("hf-broken/index/model.safetensors.index.json",
       R"({"weight_map": {"shared.weight": "../../hf/model.safetensors"}})");
}

void BadInputFolder::calibration(const std::string& name, const std::string& content) const {
  copy("tuned", "calibrated/" + name);
  file("calibrated/" + name + "/calibration.json", content);
}

void BadInputFolder::make_calibrations() const {
  file("pairs.jsonl", R"({"premise": "the cook saw a pan", "hypothesis": "the cook saw"})"
                      "\n");
  calibration("text", "temperature 1.5");
  calibration("list", "[1.5]");
  copy("tuned", "calibrated/folder");
  fs::create_directories(path() / "calibrated/folder/calibration.json");
  calibration("deep", R"({"fitted": )" + std::string(100'000, '[') + "}");
  calibration("unknown-key", R"({"temprature": 1.5})");
  calibration("word", R"({"temperature": "hot"})");
  calibration("nan", R"({"temperature": NaN})");
  calibration("overflow", R"({"temperature": 1e999})");
  calibration("zero", R"({"temperature": 0})");
  calibration("negative", R"({"temperature": -1})");
  calibration("thresholds-list", R"({"thresholds": [0.5]})");
  calibration("threshold-word", R"({"thresholds": {"yes": "half"}})");
  calibration("threshold-null", R"({"thresholds": {"yes": null}})");
  calibration("threshold-range", R"({"thresholds": {"yes": 1.5}})");
  calibration("unknown-label", R"({"thresholds": {"perhaps": 0.5}})");
  calibration("two-thresholds", R"({"thresholds": {"yes": 0.5, "no": 0.5}})");
}

}  // namespace convseq::testing
