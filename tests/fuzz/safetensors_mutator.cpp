#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// libFuzzer's own change, after which the header's length is mostly set to where the last brace
// closes: few files would get past a wrong one.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (size < 8 || seed % 8 == 0) return size;
  const uint8_t* end = data + size;
  while (end > data + 8 && end[-1] != '}') --end;
  const uint64_t length = static_cast<uint64_t>(end - data) - 8;
  std::memcpy(data, &length, sizeof length);
  return size;
}
