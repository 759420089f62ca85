#pragma once

#include <filesystem>
#include <memory>

#include "convseq/cli/options/engine_flags.h"
#include "convseq/runtime/answer_memory.h"
#include "convseq/runtime/engine.h"

// Engines as the program has them: full/engines.cpp with libtorch, lite/engines.cpp without.
namespace convseq::cli {

std::unique_ptr<Engine> load_engine(const std::filesystem::path& folder,
                                    const EngineChoice& choice);

// Throws NotEnoughMemory where a batch of this shape does not fit beside the weights of the folder,
// which are loaded already. Only the memory of a CPU is checked. `limit_bytes` 0: what is
// available.
void require_answer_memory(const std::filesystem::path& folder, const ModelConfig& config,
                           const EngineChoice& choice, const AnswerShape& shape,
                           double limit_bytes);

}  // namespace convseq::cli
