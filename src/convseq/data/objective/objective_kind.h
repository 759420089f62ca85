#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

enum class ObjectiveKind {
  SpanCorruption,
  PrefixLm,
};

template <>
inline constexpr auto kEnumNames<ObjectiveKind> = std::to_array<EnumName<ObjectiveKind>>({
    {ObjectiveKind::SpanCorruption, "span_corruption"},
    {ObjectiveKind::PrefixLm, "prefix_lm"},
});

}  // namespace convseq
