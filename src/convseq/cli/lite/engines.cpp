#include "convseq/cli/engines.h"

#include "convseq/base/memory.h"

namespace convseq::cli {

std::unique_ptr<Engine> load_engine(const std::filesystem::path& folder,
                                    const EngineChoice& choice) {
  require(choice.device != DeviceChoice::Cuda,
          "--device cuda: convseq-lite runs on CPUs; use convseq");
  require(choice.cache == KvCacheType::Auto,
          "--kv-cache-dtype {}: only on a GPU; convseq-lite runs on CPUs; use convseq",
          name_of(choice.cache));
  return load_cpu_engine(folder, {.precision = choice.precision,
                                  .threads = choice.threads,
                                  .keeps_packed_file = choice.keeps_packed_file});
}

void require_answer_memory(const std::filesystem::path& /*folder*/, const ModelConfig& config,
                           const EngineChoice& /*choice*/, const AnswerShape& shape,
                           double limit_bytes) {
  require_memory(cpu_answer_bytes(config, shape), describe(shape), limit_bytes);
}

}  // namespace convseq::cli
