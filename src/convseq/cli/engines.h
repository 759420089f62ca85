#pragma once

#include <filesystem>
#include <memory>

#include "convseq/cli/options/engine_flags.h"
#include "convseq/runtime/engine.h"

// Engines as the program has them: full/engines.cpp with libtorch, lite/engines.cpp without.
namespace convseq::cli {

std::unique_ptr<Engine> load_engine(const std::filesystem::path& folder,
                                    const EngineChoice& choice);

// The largest batch that a command answers at once.
struct AnswerShape {
  int64_t rows = 1;
  int64_t source = 1;
  int64_t target = 1;
};

// Throws NotEnoughMemory where a batch of this shape does not fit beside the weights, which are
// loaded already. Only the memory of a CPU is checked. `limit_bytes` 0: what is available.
void require_answer_memory(const ModelConfig& config, const EngineChoice& choice,
                           const AnswerShape& shape, double limit_bytes);

}  // namespace convseq::cli
