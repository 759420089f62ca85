#include "convseq/runtime/weights/tensor_values.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace convseq {
namespace {

template <class T>
T load(const std::byte* from) {  // from any address
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

float from_fp16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

}  // namespace

void to_fp32(TensorType type, const std::byte* from, int64_t count, float* to) {
  switch (type) {
    case TensorType::F32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case TensorType::BF16:
      for (int64_t i = 0; i < count; ++i) to[i] = from_bf16(load<uint16_t>(from + 2 * i));
      return;
    case TensorType::F16:
      for (int64_t i = 0; i < count; ++i) to[i] = from_fp16(load<uint16_t>(from + 2 * i));
      return;
    case TensorType::F64:
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<double>(from + 8 * i));
      return;
    default:  // int8
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load<int8_t>(from + i));
  }
}

}  // namespace convseq
