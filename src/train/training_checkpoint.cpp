#include "train/training_checkpoint.h"

#include <algorithm>
#include <cmath>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/mapped_file.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

uint32_t checksum_of(const fs::path& file) { return crc32_of(MappedFile(file).bytes()); }

Json to_json(const TrainingState& state, const RunIdentity& identity, const fs::path& folder) {
  Json json = {{"step", state.step},
               {"source_tokens", state.source_tokens},
               {"skipped_steps", state.skipped_steps},
               {"skipped_in_a_row", state.skipped_in_a_row},
               {"seconds", state.seconds},
               {"validations_since_best", state.validations_since_best},
               {"cursor", state.cursor},
               {"identity", identity},
               {"config_checksum", checksum_of(folder / kConfigFile)},
               {"model_checksum", checksum_of(folder / kWeightsFile)},
               {"optimizer_checksum", checksum_of(folder / kOptimizerFile)}};
  if (std::isfinite(state.loss)) json["loss"] = state.loss;
  if (state.best_validation) json["best_validation"] = *state.best_validation;
  json["checksum"] = crc32_of(json.dump());
  return json;
}

void check_state_file(const JsonObject& json) {
  Json others = json.json();
  others.erase("checksum");
  require(crc32_of(others.dump()) == json.get<int64_t>("checksum"),
          "{}: its checksum is not the one it has written", json.origin());
}

void check_whole(const fs::path& file, int64_t checksum) {
  require(checksum_of(file) == checksum, "{}: its checksum is not the one trainer_state.json has",
          file.string());
}

TrainingState state_of(const JsonObject& json, const fs::path& folder) {
  check_state_file(json);
  check_whole(folder / kConfigFile, json.get<int64_t>("config_checksum"));
  check_whole(folder / kWeightsFile, json.get<int64_t>("model_checksum"));
  check_whole(folder / kOptimizerFile, json.get<int64_t>("optimizer_checksum"));
  TrainingState state;
  state.step = json.get<int64_t>("step");
  state.source_tokens = json.get<int64_t>("source_tokens");
  state.skipped_steps = json.get<int64_t>("skipped_steps");
  state.skipped_in_a_row = json.get<int64_t>("skipped_in_a_row");
  state.seconds = json.get<double>("seconds");
  state.loss = json.get_or<double>("loss", std::nan(""));
  state.validations_since_best = json.get<int64_t>("validations_since_best");
  if (json.has("best_validation")) state.best_validation = json.get<double>("best_validation");
  require(json.has("cursor"), "{}: cursor is missing", json.origin());
  state.cursor = json.json().at("cursor");
  state.weights = load_tensors(folder / kWeightsFile).tensors;
  state.optimizer = load_tensors(folder / kOptimizerFile).tensors;
  return state;
}

}  // namespace

std::vector<fs::path> Checkpoints::newest_first() const {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder_)) return found;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool named =
        name.starts_with(kPrefix) && std::all_of(name.begin() + kPrefix.size(), name.end(),
                                                 [](char c) { return c >= '0' && c <= '9'; });
    if (entry.is_directory() && named) found.push_back(entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

fs::path Checkpoints::path_of(int64_t step) const {
  return folder_ / fmt::format("{}{:08}", kPrefix, step);
}

void Checkpoints::save(const TrainingState& state, const ModelFolder& model) const {
  const fs::path path = path_of(state.step);
  write_folder_atomically(path, [&](const fs::path& inside) {
    write_model_files(inside, model);
    save_tensors(inside / kOptimizerFile, {.tensors = state.optimizer, .metadata = {}});
    write_json_file(inside / kStateFile, to_json(state, identity_, inside));
  });
  int64_t kept = 0;
  for (const fs::path& each : newest_first()) {
    std::error_code error;
    if (each > path || ++kept > keep_) fs::remove_all(each, error);
  }
}

void Checkpoints::check_identity(const Json& found, const fs::path& path) const {
  for (const auto& [key, value] : identity_) {
    const std::string theirs = found.is_object() ? found.value(key, "") : "";
    require(theirs == value,
            "{}: was made with {} {}, this run has {}; choose another folder, or the same {}",
            path.string(), key, theirs.empty() ? "(not said)" : theirs, value, key);
  }
}

// Nothing where it is damaged. What is whole but of another run is refused.
std::optional<TrainingState> Checkpoints::load(const fs::path& path,
                                               const ModelConfig& expected) const {
  std::optional<ModelConfig> config;
  std::optional<TrainingState> state;
  Json identity;
  try {
    config = ModelConfig::load(path / kConfigFile);
    const JsonObject json = JsonObject::from_file(path / kStateFile);
    state = state_of(json, path);
    identity = json.json().value("identity", Json());
  } catch (const Error& error) {
    log::warning("damaged checkpoint, taking the one before it: {}", error.what());
    return std::nullopt;
  }
  require(*config == expected,
          "{}: is a checkpoint of another model; choose another folder, or the same config",
          path.string());
  check_identity(identity, path);
  return state;
}

std::optional<TrainingState> Checkpoints::load_latest(const ModelConfig& expected) const {
  const auto all = newest_first();
  for (const fs::path& path : all) {
    if (auto state = load(path, expected)) return state;
  }
  require(all.empty(), "{}: none of its {} checkpoints is whole; --fresh begins anew",
          folder_.string(), all.size());
  return std::nullopt;
}

void Checkpoints::remove_all() const {
  for (const fs::path& path : newest_first()) fs::remove_all(path);
  fs::remove_all(best());
}

}  // namespace convseq
