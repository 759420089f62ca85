#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace convseq {

// CRC-32 (the one of zip and PNG): finds broken bytes, and tells apart what should not be mixed up.
uint32_t crc32_of(std::span<const std::byte> bytes);
uint32_t crc32_of(std::string_view text);

}  // namespace convseq
