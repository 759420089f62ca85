#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "convseq/base/file/mapped_file.h"
#include "convseq/kernels/packed_matmul.h"

namespace convseq {

inline constexpr size_t kPackedAlignment = kernels::kPackedAlignment;

// Memory with the alignment of packed weights and of the rows that are computed with them.
using AlignedBytes = std::unique_ptr<std::byte[], void (*)(std::byte*)>;
AlignedBytes allocate_aligned(size_t bytes);

// One piece of packed weights.
struct PackedPart {
  size_t bytes = 0;
  std::function<void(std::byte* to)> pack;       // writes all bytes
  std::function<void(const std::byte* at)> use;  // called once the bytes have their place
};

struct PackedFileOptions {
  std::filesystem::path path;  // empty: the weights are packed in memory
  std::string key;             // of what the weights were packed from, and for; a few lines
};

// All packed weights of a model: mapped from a file, so that processes share them. A file that is
// missing, damaged, or has another key is written again. If that fails, for example in a read-only
// folder, they are packed in memory.
class PackedWeights {
 public:
  PackedWeights(const std::vector<PackedPart>& parts, const PackedFileOptions& options);

  bool is_mapped() const { return mapping_ != nullptr; }

 private:
  bool map(const std::vector<PackedPart>& parts, const PackedFileOptions& options);

  std::unique_ptr<const MappedFile> mapping_;
  AlignedBytes memory_;
};

}  // namespace convseq
