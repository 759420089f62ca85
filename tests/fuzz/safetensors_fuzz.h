#pragma once

#include <cstddef>
#include <span>

namespace convseq::testing {

// Reads any bytes as a safetensors file and aborts where the reader breaks a promise: views inside
// the bytes and of the right size, or an Error in one line. Says whether the file was accepted.
bool accepts_safetensors(std::span<const std::byte> bytes);

}  // namespace convseq::testing
