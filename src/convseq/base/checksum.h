#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace convseq {

// CRC-32 (as in zip and PNG): detects damaged files and serves as a fingerprint.
uint32_t crc32_of(std::span<const std::byte> bytes);
uint32_t crc32_of(std::string_view text);

}  // namespace convseq
