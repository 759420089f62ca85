#include "convseq/cli/engines.h"

#include "convseq/base/memory.h"
#include "convseq/spec/flops.h"

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

// The rows of a batch go through the layers in blocks: between two layers there are the residual
// stream and the input and output of the mixer, besides the decode state.
void require_answer_memory(const ModelConfig& config, const EngineChoice& /*choice*/,
                           const AnswerShape& shape, double limit_bytes) {
  constexpr double kStreams = 5, kFloat = 4;
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const DecodeBytes state =
      decode_state_bytes(config, shape.source, shape.target, static_cast<int64_t>(kFloat));
  const double per_row =
      kStreams * kFloat * real(shape.source + shape.target) * real(config.d_model) +
      real(state.mixers) + real(state.source);
  require_memory(real(shape.rows) * per_row,
                 fmt::format("answering {} rows of {} tokens at a time", shape.rows, shape.source),
                 limit_bytes);
}

}  // namespace convseq::cli
