#include <algorithm>
#include <cstring>

#include "fuzz/packed_fuzz.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// libFuzzer's own change, after which the file mostly gets its right size and checksum, and often
// its right header: few files would get past a wrong one.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace convseq::testing;
  size = LLVMFuzzerMutate(data, size, max_size);
  const std::string& valid = valid_packed_file();
  if (seed % 8 == 0 || max_size < valid.size()) return size;
  std::fill(data + std::min(size, valid.size()), data + valid.size(), uint8_t{0});
  if (seed % 8 > 2) std::memcpy(data, valid.data(), kPackedHeaderBytes);
  const uint32_t checksum = packed_checksum(std::as_bytes(std::span(data, valid.size())));
  std::memcpy(data + kPackedHeaderBytes - sizeof checksum, &checksum, sizeof checksum);
  return valid.size();
}
