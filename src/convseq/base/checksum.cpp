#include "convseq/base/checksum.h"

#include <zlib.h>

namespace convseq {

uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

uint32_t crc32_of(std::string_view text) { return crc32_of(std::as_bytes(std::span(text))); }

}  // namespace convseq
