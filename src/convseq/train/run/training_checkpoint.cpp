#include "convseq/train/run/training_checkpoint.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/checksum.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/mapped_file.h"
#include "convseq/base/log.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr const char* kStateFile = "trainer_state.json";
constexpr const char* kOptimizerFile = "optimizer.safetensors";

constexpr const char* kChecksumFile = "checksums.json";

// Hugging Face's trainer writes folders of the same names.
bool is_ours(const fs::path& checkpoint) { return fs::exists(checkpoint / kOptimizerFile); }

uint32_t checksum_of(const fs::path& file) { return crc32_of(MappedFile(file).bytes()); }

// The checksum of every file in the folder, by name.
Json checksums_in(const fs::path& folder) {
  std::map<std::string, uint32_t> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    found[entry.path().filename().string()] = checksum_of(entry.path());
  }
  return found;
}

void check_checksums(const fs::path& folder, const JsonObject& expected) {
  for (const auto& [name, value] : expected.json().items()) {
    require(checksum_of(folder / name) == expected.get<int64_t>(name),
            "{}: its checksum is not the one it was written with", (folder / name).string());
  }
}

Json to_json(const RunIdentity& identity) {
  Json json = Json::object();
  for (const RunIdentityItem& item : identity) json[item.name] = item.value;
  return json;
}

Json state_file(const TrainingState& state, const RunIdentity& identity, const fs::path& folder) {
  Json json = to_json(state);
  json["identity"] = to_json(identity);
  const Json files = checksums_in(folder);
  json["files"] = files;
  json["config_checksum"] = files[kConfigFile];  // also under the keys of version 0.1.0
  json["model_checksum"] = files[kWeightsFile];
  json["optimizer_checksum"] = files[kOptimizerFile];
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

TrainingState load_state(const JsonObject& json, const fs::path& folder) {
  check_state_file(json);
  if (json.has("files")) {
    check_checksums(folder, {json.json().at("files"), json.origin()});
  } else {  // written by version 0.1.0
    check_whole(folder / kConfigFile, json.get<int64_t>("config_checksum"));
    check_whole(folder / kWeightsFile, json.get<int64_t>("model_checksum"));
    check_whole(folder / kOptimizerFile, json.get<int64_t>("optimizer_checksum"));
  }
  TrainingState state = training_state_from(json);
  state.weights = load_tensors(folder / kWeightsFile).tensors;
  state.optimizer = load_tensors(folder / kOptimizerFile).tensors;
  check_finite(state.weights, (folder / kWeightsFile).string());
  check_finite(state.optimizer, (folder / kOptimizerFile).string());
  return state;
}

}  // namespace

Json to_json(const TrainingState& state) {
  Json json = {{"step", state.step},
               {"source_tokens", state.source_tokens},
               {"skipped_steps", state.skipped_steps},
               {"skipped_in_a_row", state.skipped_in_a_row},
               {"seconds", state.seconds},
               {"flops", state.flops},
               {"validations_since_best", state.validations_since_best},
               {"cursor", state.cursor}};
  if (std::isfinite(state.loss)) json["loss"] = state.loss;
  if (state.best_validation && std::isfinite(*state.best_validation)) {
    json["best_validation"] = *state.best_validation;
  }
  return json;
}

TrainingState training_state_from(const JsonObject& json) {
  TrainingState state;
  state.step = json.get<int64_t>("step");
  state.source_tokens = json.get<int64_t>("source_tokens");
  state.skipped_steps = json.get<int64_t>("skipped_steps");
  state.skipped_in_a_row = json.get<int64_t>("skipped_in_a_row");
  state.seconds = json.get<double>("seconds");
  state.flops = json.get_or<double>("flops", 0);
  state.loss = json.get_or<double>("loss", std::nan(""));
  state.validations_since_best = json.get<int64_t>("validations_since_best");
  if (json.has("best_validation")) state.best_validation = json.get<double>("best_validation");
  require(json.has("cursor"), "{}: cursor is missing", json.origin());
  state.cursor = json.json().at("cursor");
  return state;
}

std::vector<fs::path> Checkpoints::newest_first() const {
  std::vector<fs::path> found;
  if (!fs::is_directory(folder_)) return found;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const bool named = name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
                       name.size() < 27 &&
                       std::all_of(name.begin() + kPrefix.size(), name.end(),
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
    write_json_file(inside / kStateFile, state_file(state, identity_, inside));
  });
  int64_t kept = 0;
  for (const fs::path& each : newest_first()) {
    std::error_code error;
    if ((each > path || ++kept > keep_) && is_ours(each)) fs::remove_all(each, error);
  }
}

// Earlier versions wrote fewer keys. Missing keys are not compared, except the task, which
// distinguishes fine-tuning from pre-training.
void Checkpoints::check_identity(const Json& found, const fs::path& path) const {
  const auto is_task = [](const RunIdentityItem& item) { return item.name == "task"; };
  const bool has_task = std::any_of(identity_.begin(), identity_.end(), is_task);
  require(found.is_object() && found.contains("task") == has_task,
          "{}: is a checkpoint of a {} run; choose another folder", path.string(),
          has_task ? "pre-training" : "fine-tuning");
  for (const auto& [key, value, when_missing] : identity_) {
    if (!found.contains(key) && !when_missing) continue;
    const Json& saved = found.contains(key) ? found[key] : Json(*when_missing);
    const std::string theirs = saved.is_string() ? saved.get<std::string>() : "";
    require(theirs == value,
            "{}: was made with {} {}, this run has {}; choose another folder, the same {}, or {} "
            "to start over",
            path.string(), key, theirs, value, key, OptionName("resume", false));
  }
}

// Returns nothing if the checkpoint is damaged. Throws an Error for a valid checkpoint of another
// run.
std::optional<TrainingState> Checkpoints::load(const fs::path& path,
                                               const ModelConfig& expected) const {
  std::optional<ModelConfig> config;
  std::optional<TrainingState> state;
  Json identity;
  try {
    config = ModelConfig::load(path / kConfigFile);
    const JsonObject json = JsonObject::from_file(path / kStateFile);
    state = load_state(json, path);
    identity = json.json().value("identity", Json());
  } catch (const Error& error) {
    log::warning("damaged checkpoint, using the one before it: {}", error.what());
    return std::nullopt;
  }
  require(*config == expected,
          "{}: is a checkpoint of another model; choose another folder, the same config, or {} to "
          "start over",
          path.string(), OptionName("resume", false));
  check_identity(identity, path);
  return state;
}

std::optional<TrainingState> Checkpoints::load_latest(const ModelConfig& expected) const {
  const auto all = newest_first();
  for (const fs::path& path : all) {
    if (auto state = load(path, expected)) return state;
  }
  require(all.empty(),
          "{}: none of its {} checkpoints is valid; use {} to start over, or choose another folder",
          folder_.string(), all.size(), OptionName("resume", false));
  return std::nullopt;
}

int64_t Checkpoints::newest_step() const {
  const auto all = newest_first();
  return all.empty() ? 0 : std::stoll(all.front().filename().string().substr(kPrefix.size()));
}

void Checkpoints::save_best(const ModelFolder& model) const {
  write_folder_atomically(best(), [&](const fs::path& inside) {
    write_model_files(inside, model);
    write_json_file(inside / kChecksumFile, checksums_in(inside));
  });
}

bool Checkpoints::has_best() const {
  if (!fs::exists(best() / kWeightsFile)) return false;
  if (!fs::exists(best() / kChecksumFile)) return true;  // written by an earlier version
  try {
    check_checksums(best(), JsonObject::from_file(best() / kChecksumFile));
  } catch (const Error& error) {
    throw error.with(fmt::format("remove {} to continue without it", best().string()));
  }
  return true;
}

void Checkpoints::remove_all() const {
  for (const fs::path& path : newest_first()) {
    if (is_ours(path)) fs::remove_all(path);
  }
  if (fs::exists(best() / kChecksumFile)) fs::remove_all(best());
}

void Checkpoints::refuse_input(const fs::path& input) const {
  std::error_code error;
  const fs::path inside =
      fs::weakly_canonical(input, error).lexically_relative(fs::weakly_canonical(folder_, error));
  const std::string first = inside.empty() ? "" : inside.begin()->string();
  require(first != "best" && !first.starts_with(kPrefix),
          "{}: is a checkpoint of the output folder, which the run replaces; copy it first, or "
          "write to another folder",
          input.string());
}

}  // namespace convseq
