#include "fuzz/safetensors_fuzz.h"

#include <cstring>
#include <string_view>

#include "convseq/base/error.h"
#include "convseq/base/safetensors/safetensors.h"
#include "fuzz/promise.h"

namespace convseq::testing {
namespace {

void check_views(const SafetensorsFile& file, std::span<const std::byte> bytes) {
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::span<const std::byte> buffer = bytes.subspan(sizeof header + header);
  const std::byte* end = buffer.data() + buffer.size();
  size_t covered = 0;
  for (const auto& [name, view] : file.tensors()) {
    promise(view.bytes.data() >= buffer.data() && view.bytes.data() <= end &&
                view.bytes.size() <= static_cast<size_t>(end - view.bytes.data()),
            "a view lies inside the buffer");
    int64_t size = byte_size(view.type);
    for (const int64_t length : view.shape) {
      promise(length >= 0 && !__builtin_mul_overflow(size, length, &size),
              "sizes can be multiplied");
    }
    promise(view.bytes.size() == static_cast<size_t>(size), "a view is as large as its shape says");
    covered += view.bytes.size();
  }
  promise(covered == buffer.size(), "the views share out the buffer");
}

}  // namespace

bool accepts_safetensors(std::span<const std::byte> bytes) {
  try {
    check_views(SafetensorsFile::parse(bytes, "fuzz"), bytes);
    return true;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    promise(message.starts_with("fuzz: "), "an error names the file");
    promise(message.find('\n') == message.npos, "an error is one line");
    promise(message.size() < 5'000, "an error is short");
    return false;
  }
}

}  // namespace convseq::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  convseq::testing::accepts_safetensors(std::as_bytes(std::span(data, size)));
  return 0;
}
