#include "convseq/bench/device_memory.h"

#include "convseq/base/memory.h"
#include "convseq/kernels/device.h"
#include "convseq/train/step/memory_estimate.h"

namespace convseq::bench {

void require_device_memory(torch::Device device, double bytes, const std::string& what,
                           double limit) {
  if (device.is_cuda() && limit == 0) {
    const auto gpus = kernels::cuda_devices();
    const auto index = static_cast<size_t>(std::max<int>(device.index(), 0));
    if (index >= gpus.size()) return;
    limit = static_cast<double>(gpus[index].memory_bytes);
  }
  require_memory(bytes, what, limit);
}

void require_step_memory(const ModelConfig& config, const TrainingModelOptions& options,
                         const RandomBatchOptions& batch, const std::string& what) {
  if (!options.device.is_cpu() && options.max_memory == 0) return;
  const MemoryEstimate estimate = training_memory(config, {.rows = batch.rows,
                                                           .source = batch.source,
                                                           .target = batch.target,
                                                           .precision = options.type,
                                                           .optimizer = options.optimizer.kind,
                                                           .recompute = options.step.recompute,
                                                           .device = options.device});
  require_memory(estimate.total(), what, options.max_memory);
}

}  // namespace convseq::bench
