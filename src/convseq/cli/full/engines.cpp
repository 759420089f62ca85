#include "convseq/cli/engines.h"

#include <ATen/Parallel.h>

#include "convseq/base/memory.h"
#include "convseq/base/safetensors/safetensors.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/infer/torch_engine.h"
#include "convseq/model/checkpoint.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/train/step/memory_estimate.h"

namespace convseq::cli {
namespace {

struct OwnedModel {
  std::shared_ptr<Seq2Seq> model;
};

// A TorchEngine with the model that it runs.
class LoadedTorchEngine : private OwnedModel, public TorchEngine {
 public:
  LoadedTorchEngine(std::shared_ptr<Seq2Seq> loaded, const TorchEngineOptions& options)
      : OwnedModel{std::move(loaded)}, TorchEngine(*model, options) {}
};

bool has_fp32_weights(const std::filesystem::path& folder) {
  const auto file = SafetensorsFile::open(folder / kWeightsFile);
  return std::all_of(file->tensors().begin(), file->tensors().end(),
                     [](const auto& tensor) { return tensor.second.type == TensorType::F32; });
}

bool wants_cpu_engine(const std::filesystem::path& folder, const EngineChoice& choice) {
  if (!choice.as_in_training) return true;
  return choice.precision != CpuPrecision::Fp32 &&
         (choice.precision != CpuPrecision::Stored || !has_fp32_weights(folder));
}

}  // namespace

std::unique_ptr<Engine> load_engine(const std::filesystem::path& folder,
                                    const EngineChoice& choice) {
  const torch::Device device = device_of(choice.device);
  require(device.is_cuda() || choice.cache == KvCacheType::Auto,
          "--kv-cache-dtype {}: only on a GPU; allowed on a CPU: auto", name_of(choice.cache));
  if (device.is_cpu() && wants_cpu_engine(folder, choice)) {
    return load_cpu_engine(folder, {.precision = choice.precision,
                                    .threads = choice.threads,
                                    .keeps_packed_file = choice.keeps_packed_file});
  }
  if (device.is_cpu() && choice.threads > 0) at::set_num_threads(static_cast<int>(choice.threads));
  require(choice.precision != CpuPrecision::Int8,
          "--precision int8: not on a GPU; allowed: stored, fp32, bf16");
  auto model = load_model(
      folder, choice.precision == CpuPrecision::Bf16 ? torch::kBFloat16 : torch::kFloat32);
  model->to(device);
  return std::make_unique<LoadedTorchEngine>(std::move(model),
                                             TorchEngineOptions{.cache = choice.cache});
}

void require_answer_memory(const std::filesystem::path& folder, const ModelConfig& config,
                           const EngineChoice& choice, const AnswerShape& shape,
                           double limit_bytes) {
  if (device_of(choice.device).is_cuda()) return;
  double needed = cpu_answer_bytes(config, shape);
  if (!wants_cpu_engine(folder, choice)) {
    MemoryEstimate estimate = inference_memory(
        config, {.rows = shape.rows, .source = shape.source, .target = shape.target});
    estimate.weights = 0;  // they are there already
    needed = estimate.total();
  }
  require_memory(needed, describe(shape), limit_bytes);
}

}  // namespace convseq::cli
