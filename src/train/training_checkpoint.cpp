#include "train/training_checkpoint.h"

#include <torch/torch.h>

#include <algorithm>

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
constexpr const char* kCpuRandom = "random.cpu";
constexpr const char* kCudaRandom = "random.cuda";

uint32_t checksum_of(const fs::path& file) { return crc32_of(MappedFile(file).bytes()); }

void add_random_state(TensorMap& tensors) {
  tensors[kCpuRandom] = at::detail::getDefaultCPUGenerator().get_state();
  if (torch::cuda::is_available()) {
    tensors[kCudaRandom] = at::globalContext().defaultGenerator(torch::kCUDA).get_state();
  }
}

void take_random_state(TensorMap& tensors) {
  const auto take = [&](const char* name, auto generator) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) return;
    generator().set_state(found->second.clone());
    tensors.erase(found);
  };
  take(kCpuRandom, [] { return at::detail::getDefaultCPUGenerator(); });
  if (torch::cuda::is_available()) {
    take(kCudaRandom, [] { return at::globalContext().defaultGenerator(torch::kCUDA); });
  }
  tensors.erase(kCudaRandom);
}

Json to_json(const TrainingState& state, const fs::path& folder) {
  Json json = {{"step", state.step},
               {"source_tokens", state.source_tokens},
               {"skipped_steps", state.skipped_steps},
               {"cursor", state.cursor.to_json()},
               {"model_checksum", checksum_of(folder / kWeightsFile)},
               {"optimizer_checksum", checksum_of(folder / kOptimizerFile)}};
  if (state.best_validation) json["best_validation"] = *state.best_validation;
  return json;
}

void check_whole(const fs::path& file, int64_t checksum) {
  require(checksum_of(file) == checksum, "{}: its checksum is not the one trainer_state.json has",
          file.string());
}

TrainingState load(const fs::path& folder) {
  const JsonObject json = JsonObject::from_file(folder / kStateFile);
  check_whole(folder / kWeightsFile, json.get<int64_t>("model_checksum"));
  check_whole(folder / kOptimizerFile, json.get<int64_t>("optimizer_checksum"));
  TrainingState state;
  state.step = json.get<int64_t>("step");
  state.source_tokens = json.get<int64_t>("source_tokens");
  state.skipped_steps = json.get<int64_t>("skipped_steps");
  if (json.has("best_validation")) state.best_validation = json.get<double>("best_validation");
  require(json.has("cursor"), "{}: cursor is missing", json.origin());
  state.cursor = StreamCursor::from_json({json.json().at("cursor"), json.origin() + ": cursor"});
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

void Checkpoints::save(const TrainingState& state, const ModelFolder& model) const {
  const fs::path path = folder_ / fmt::format("{}{:08}", kPrefix, state.step);
  write_folder_atomically(path, [&](const fs::path& inside) {
    write_model_files(inside, model);
    TensorMap optimizer = state.optimizer;
    add_random_state(optimizer);
    save_tensors(inside / kOptimizerFile, {.tensors = optimizer, .metadata = {}});
    write_json_file(inside / kStateFile, to_json(state, inside));
  });
  const auto all = newest_first();
  for (size_t i = static_cast<size_t>(keep_); i < all.size(); ++i) {
    std::error_code error;
    fs::remove_all(all[i], error);
  }
}

std::optional<TrainingState> Checkpoints::load_latest(const ModelConfig& expected) const {
  for (const fs::path& path : newest_first()) {
    const ModelConfig found = ModelConfig::load(path / kConfigFile);
    require(found == expected,
            "{}: is a checkpoint of another model; choose another folder, or the same config",
            path.string());
    try {
      TrainingState state = load(path);
      take_random_state(state.optimizer);
      return state;
    } catch (const Error& error) {
      log::warning("damaged checkpoint, taking the one before it: {}", error.what());
    }
  }
  return std::nullopt;
}

}  // namespace convseq
