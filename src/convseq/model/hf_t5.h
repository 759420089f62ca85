#pragma once

#include <filesystem>

#include "convseq/model/checkpoint.h"

namespace convseq {

// Reads a Hugging Face T5 folder (v1.0: ReLU, tied; v1.1: gated GELU, separate output), either one
// model.safetensors or shards with an index, and returns the same model under our names. Throws an
// Error that names the key or tensor of an unsupported model (another activation, an encoder
// alone).
ModelFolder read_hf_t5(const std::filesystem::path& folder);

}  // namespace convseq
