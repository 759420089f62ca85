#pragma once

#include <filesystem>

#include "convseq/model/checkpoint.h"

namespace convseq {

// Reads a Hugging Face T5 folder (v1.0: ReLU, tied; v1.1: gated GELU, separate output), as one
// model.safetensors or as shards with an index, and gives the same model in our names. What this
// program does not compute (another activation, an encoder only) is refused by key.
ModelFolder read_hf_t5(const std::filesystem::path& folder);

}  // namespace convseq
