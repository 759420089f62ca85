#pragma once

#include <filesystem>

#include "convseq/model/checkpoint.h"

namespace convseq {

// Reads a Hugging Face T5 folder (v1.0: ReLU, tied; v1.1: gated GELU, separate output), as one
// model.safetensors or as shards with an index, and returns the same model under our names. What
// convseq does not compute (another activation, an encoder alone) is refused by key.
ModelFolder read_hf_t5(const std::filesystem::path& folder);

}  // namespace convseq
