#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// The type of the keys and values that decoding on a GPU keeps: that of the model, or int8 with one
// fp32 scale per token and head.
enum class KvCacheType { Auto, Int8 };
template <>
inline constexpr auto kEnumNames<KvCacheType> = std::to_array<EnumName<KvCacheType>>(
    {{KvCacheType::Auto, "auto"}, {KvCacheType::Int8, "int8"}});

}  // namespace convseq
