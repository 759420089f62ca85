#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// How many of its labels an example has.
enum class LabelKind { Single, Multi };
template <>
inline constexpr auto kEnumNames<LabelKind> = std::to_array<EnumName<LabelKind>>({
    {LabelKind::Single, "single"},  // exactly one: a softmax over the labels
    {LabelKind::Multi, "multi"},    // any number, also none: a sigmoid per label
});

}  // namespace convseq
