#pragma once

#include <cstdint>

#include "convseq/base/enum_names.h"

namespace convseq {

// The element types of a safetensors file, in the order of alignment that its writers sort by.
enum class TensorType {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  F64,
  I64,
  U64,
};

template <>
inline constexpr auto kEnumNames<TensorType> = std::to_array<EnumName<TensorType>>({
    {TensorType::Bool, "BOOL"},
    {TensorType::U8, "U8"},
    {TensorType::I8, "I8"},
    {TensorType::F8E5M2, "F8_E5M2"},
    {TensorType::F8E4M3, "F8_E4M3"},
    {TensorType::I16, "I16"},
    {TensorType::U16, "U16"},
    {TensorType::F16, "F16"},
    {TensorType::BF16, "BF16"},
    {TensorType::I32, "I32"},
    {TensorType::U32, "U32"},
    {TensorType::F32, "F32"},
    {TensorType::F64, "F64"},
    {TensorType::I64, "I64"},
    {TensorType::U64, "U64"},
});

constexpr int64_t byte_size(TensorType type) {
  if (type <= TensorType::F8E4M3) return 1;
  if (type <= TensorType::BF16) return 2;
  if (type <= TensorType::F32) return 4;
  return 8;
}

}  // namespace convseq
