#include "convseq/runtime/weights/packed_weights.h"

#include <cstring>
#include <mutex>
#include <new>

#include "convseq/base/checksum.h"
#include "convseq/base/error.h"
#include "convseq/base/file/atomic_file.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// The file: a page with the header, then the parts, each padded to kPackedAlignment bytes. The
// header is text, filled up with zeros, and a checksum in its last bytes.
constexpr size_t kHeaderBytes = 4096;
// To be raised with every change of this format, of the order of the parts and of their computed
// values; the key tells other packed layouts of matrices.
constexpr int kVersion = 4;

size_t padded(size_t bytes) {
  return (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

size_t padded_sum(const std::vector<PackedPart>& parts) {
  size_t sum = 0;
  for (const PackedPart& each : parts) sum += padded(each.bytes);
  return sum;
}

// The checksum of the parts' checksums: a part is read once, while it is in the cache.
uint32_t sum_of(const std::vector<uint32_t>& sums) {
  return crc32_of(std::as_bytes(std::span(sums)));
}

std::vector<std::byte> header_of(const std::vector<PackedPart>& parts, const std::string& key,
                                 uint32_t checksum) {
  const std::string text = fmt::format("convseq packed weights, version {}\n{} parts, {} bytes\n{}",
                                       kVersion, parts.size(), padded_sum(parts), key);
  require(text.size() + sizeof checksum <= kHeaderBytes, "the key of packed weights has {} bytes",
          key.size());
  std::vector<std::byte> header(kHeaderBytes);
  std::memcpy(header.data(), text.data(), text.size());
  std::memcpy(header.data() + kHeaderBytes - sizeof checksum, &checksum, sizeof checksum);
  return header;
}

bool is_valid(std::span<const std::byte> file, const std::vector<PackedPart>& parts,
              const std::string& key) {
  if (file.size() != kHeaderBytes + padded_sum(parts)) return false;
  uint32_t checksum = 0;
  std::memcpy(&checksum, file.data() + kHeaderBytes - sizeof checksum, sizeof checksum);
  const auto header = header_of(parts, key, checksum);
  if (std::memcmp(file.data(), header.data(), kHeaderBytes) != 0) return false;
  std::vector<uint32_t> sums;
  const std::byte* at = file.data() + kHeaderBytes;
  for (const PackedPart& each : parts) {
    sums.push_back(crc32_of({at, padded(each.bytes)}));
    at += padded(each.bytes);
  }
  return sum_of(sums) == checksum;
}

void write_packed_file(const std::vector<PackedPart>& parts, const PackedFileOptions& options) {
  // Temporary names differ between processes, not between threads.
  static std::mutex one_writer;
  const std::scoped_lock lock(one_writer);
  remove_abandoned(options.path);
  AtomicFile file(options.path);
  file.write(std::vector<std::byte>(kHeaderBytes));
  std::vector<uint32_t> sums;
  for (const PackedPart& each : parts) {
    const size_t bytes = padded(each.bytes);
    const AlignedBytes memory = allocate_aligned(bytes);
    std::memset(memory.get() + each.bytes, 0, bytes - each.bytes);
    each.pack(memory.get());
    const std::span<const std::byte> part(memory.get(), bytes);
    sums.push_back(crc32_of(part));
    file.write(part);
  }
  file.write_at(0, header_of(parts, options.key, sum_of(sums)));
  file.commit();
}

void use_all(const std::vector<PackedPart>& parts, const std::byte* at) {
  for (const PackedPart& each : parts) {
    each.use(at);
    at += padded(each.bytes);
  }
}

}  // namespace

AlignedBytes allocate_aligned(size_t bytes) {
  constexpr auto kAlignment = std::align_val_t{kPackedAlignment};
  return {static_cast<std::byte*>(::operator new(padded(bytes), kAlignment)),
          [](std::byte* memory) { ::operator delete(memory, kAlignment); }};
}

PackedWeights::PackedWeights(const std::vector<PackedPart>& parts, const PackedFileOptions& options)
    : memory_(nullptr, [](std::byte*) {}) {
  if (!options.path.empty()) {
    if (map(parts, options)) return;
    try {
      write_packed_file(parts, options);
    } catch (const Error&) {  // bad weights are refused again below
    }
    if (map(parts, options)) return;
  }
  memory_ = allocate_aligned(padded_sum(parts));
  std::byte* at = memory_.get();
  for (const PackedPart& each : parts) {
    each.pack(at);
    at += padded(each.bytes);
  }
  use_all(parts, memory_.get());
}

bool PackedWeights::map(const std::vector<PackedPart>& parts, const PackedFileOptions& options) {
  std::error_code error;  // of a link that leads nowhere
  if (!fs::is_regular_file(options.path, error)) return false;
  try {
    auto mapping = std::make_unique<const MappedFile>(options.path);
    if (!is_valid(mapping->bytes(), parts, options.key)) return false;
    mapping_ = std::move(mapping);
  } catch (const Error&) {  // another process may have removed it, or it is not readable
    return false;
  }
  use_all(parts, mapping_->bytes().data() + kHeaderBytes);
  return true;
}

}  // namespace convseq
