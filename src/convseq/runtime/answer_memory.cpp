#include "convseq/runtime/answer_memory.h"

#include "convseq/spec/flops.h"

namespace convseq {

std::string describe(const AnswerShape& shape) {
  return fmt::format("answering {} rows of {} tokens at a time", shape.rows, shape.source);
}

double cpu_answer_bytes(const ModelConfig& config, const AnswerShape& shape) {
  constexpr double kStreams = 5, kFloat = 4;
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const DecodeBytes state =
      decode_state_bytes(config, shape.source, shape.target, static_cast<int64_t>(kFloat));
  const double per_row =
      kStreams * kFloat * real(shape.source + shape.target) * real(config.d_model) +
      real(state.mixers) + real(state.source);
  return real(shape.rows) * per_row;
}

}  // namespace convseq
