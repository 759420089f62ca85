#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace convseq::testing {

// The packed parts that the fuzzed files are read as.
inline constexpr size_t kPartBytes[] = {0, 1, 63, 64, 65, 0, 300, 1000};
inline constexpr size_t kPackedHeaderBytes = 4096;  // the last four are the checksum

// A file that PackedWeights has written.
const std::string& valid_packed_file();

// The checksum that the header of this file should have; the file must have the right size.
uint32_t packed_checksum(std::span<const std::byte> file);

// Opens any bytes as a file of packed weights and aborts where a promise is broken: the parts are
// those of the file if its size, header and checksum are right, else they are packed again.
void open_packed_file(std::span<const std::byte> file);

// Lets models of every kind answer with these contents instead of their packed weights, as if a
// file had them with a right checksum. Aborts where a token is not in the vocabulary.
void answer_with(std::span<const std::byte> contents);

}  // namespace convseq::testing
