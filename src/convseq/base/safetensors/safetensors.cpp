#include "convseq/base/safetensors/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/safetensors/safetensors_header.h"

namespace convseq {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kAlignment = 8;  // of the buffer, and of the largest element

std::string_view header_text(std::span<const std::byte> file, const std::string& origin) {
  uint64_t length = 0;
  require(file.size() >= sizeof length, "{}: {} bytes long; a safetensors file has at least {}",
          origin, file.size(), sizeof length);
  std::memcpy(&length, file.data(), sizeof length);
  require(length <= kMaxHeader, "{}: header of {} bytes; allowed: at most {}", origin, length,
          kMaxHeader);
  const std::span<const std::byte> rest = file.subspan(sizeof length);
  require(length <= rest.size(), "{}: header of {} bytes, of which the file has {}", origin, length,
          rest.size());
  return {reinterpret_cast<const char*>(rest.data()), length};
}

// The size of a tensor in bytes; nothing if it overflows an int64. The other dimensions of an empty
// tensor must not overflow either: its strides are computed from them.
std::optional<uint64_t> byte_count(TensorType type, const std::vector<int64_t>& shape) {
  int64_t bytes = byte_size(type);
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) empty = true;
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return empty ? 0 : bytes;
}

std::string describe(TensorType type, const std::vector<int64_t>& shape) {
  return fmt::format("{} [{}]", name_of(type), fmt::join(shape, ", "));
}

void check_size(const std::string& name, const TensorEntry& entry, const std::string& origin) {
  if (entry.begin > entry.end) {
    fail("{}: tensor {}: data_offsets [{}, {}] end before they begin", origin, brief_value(name),
         entry.begin, entry.end);
  }
  const auto bytes = byte_count(entry.type, entry.shape);
  if (!bytes) {
    fail("{}: tensor {}: {} takes more bytes than an int64 counts", origin, brief_value(name),
         describe(entry.type, entry.shape));
  }
  if (entry.end - entry.begin != *bytes) {
    fail("{}: tensor {}: data_offsets [{}, {}] span {} bytes; {} takes {}", origin,
         brief_value(name), entry.begin, entry.end, entry.end - entry.begin,
         describe(entry.type, entry.shape), *bytes);
  }
}

// The tensors must cover the buffer from its first byte to its last, without gaps or overlaps.
void check_layout(const std::map<std::string, TensorEntry>& tensors, uint64_t buffer_size,
                  const std::string& origin) {
  std::vector<const std::pair<const std::string, TensorEntry>*> ordered;
  for (const auto& tensor : tensors) {
    check_size(tensor.first, tensor.second, origin);
    ordered.push_back(&tensor);
  }
  std::sort(ordered.begin(), ordered.end(), [](const auto* left, const auto* right) {
    return std::tie(left->second.begin, left->second.end) <
           std::tie(right->second.begin, right->second.end);
  });
  uint64_t covered = 0;
  for (const auto* tensor : ordered) {
    const auto& [name, entry] = *tensor;
    if (entry.begin != covered) {
      fail("{}: tensor {}: data_offsets [{}, {}] {} byte {}, where the tensor before it ends",
           origin, brief_value(name), entry.begin, entry.end,
           entry.begin < covered ? "overlap" : "leave a hole behind", covered);
    }
    covered = entry.end;
  }
  require(covered == buffer_size, "{}: its tensors take {} bytes; {} bytes follow the header",
          origin, covered, buffer_size);
}

using NamedView = std::pair<const std::string, TensorView>;

std::vector<const NamedView*> by_alignment(const std::map<std::string, TensorView>& tensors) {
  std::vector<const NamedView*> ordered;
  ordered.reserve(tensors.size());
  for (const NamedView& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto* left, const auto* right) {
    return left->second.type > right->second.type;
  });
  return ordered;
}

std::string quoted(const std::string& text, const std::string& origin) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail("{}: {} is not UTF-8", origin, brief_value(text));
  }
}

std::string format_header(const std::vector<const NamedView*>& tensors,
                          const std::map<std::string, std::string>& metadata,
                          const std::string& origin) {
  std::vector<std::string> pairs;
  pairs.reserve(metadata.size());
  for (const auto& [key, value] : metadata) {
    pairs.push_back(quoted(key, origin) + ":" + quoted(value, origin));
  }
  std::vector<std::string> entries;
  if (!pairs.empty()) {
    entries.push_back(fmt::format(R"("{}":{{{}}})", kMetadataKey, fmt::join(pairs, ",")));
  }
  uint64_t begin = 0;
  for (const NamedView* tensor : tensors) {
    const auto& [name, view] = *tensor;
    require(name != kMetadataKey, "{}: no tensor may be named {}", origin, kMetadataKey);
    require(byte_count(view.type, view.shape) == view.bytes.size(),
            "{}: tensor {}: {} bytes given for {}", origin, quoted(name, origin), view.bytes.size(),
            describe(view.type, view.shape));
    const uint64_t end = begin + view.bytes.size();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted(name, origin), name_of(view.type),
                                  fmt::join(view.shape, ","), begin, end));
    begin = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  require(header.size() <= kMaxHeader, "{}: header of {} bytes; allowed: at most {}", origin,
          header.size(), kMaxHeader);
  return header;
}

}  // namespace

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes,
                                       const std::string& origin) {
  const std::string_view text = header_text(bytes, origin);
  const std::span<const std::byte> buffer = bytes.subspan(sizeof(uint64_t) + text.size());
  SafetensorsHeader header = parse_safetensors_header(text, origin);
  check_layout(header.tensors, buffer.size(), origin);

  SafetensorsFile file;
  for (auto& [name, entry] : header.tensors) {
    file.tensors_[name] = {entry.type, std::move(entry.shape),
                           buffer.subspan(entry.begin, entry.end - entry.begin)};
  }
  file.metadata_ = std::move(header.metadata);
  return file;
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  auto mapping = std::make_unique<const MappedFile>(path);
  auto file = std::make_shared<SafetensorsFile>(parse(mapping->bytes(), path.string()));
  file->mapping_ = std::move(mapping);
  return file;
}

void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const NamedView*> ordered = by_alignment(tensors);
  const std::string header = format_header(ordered, metadata, path.string());
  const uint64_t length = header.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedView* tensor : ordered) file.write(tensor->second.bytes);
  file.commit();
}

}  // namespace convseq
