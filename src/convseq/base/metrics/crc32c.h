#pragma once

#include <cstdint>
#include <string_view>

namespace convseq {

// The Castagnoli checksum, as iSCSI (RFC 3720, B.4) and TFRecord files use it.
uint32_t crc32c(std::string_view bytes);

}  // namespace convseq
