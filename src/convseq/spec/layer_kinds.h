#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// What a model is made of beside its mixer.
enum class NormStyle { BranchLayerNorm, PreRmsNorm };
template <>
inline constexpr auto kEnumNames<NormStyle> = std::to_array<EnumName<NormStyle>>(
    {{NormStyle::BranchLayerNorm, "branch_layer_norm"}, {NormStyle::PreRmsNorm, "pre_rms_norm"}});

enum class FeedForwardKind { Relu, GatedGelu };
template <>
inline constexpr auto kEnumNames<FeedForwardKind> = std::to_array<EnumName<FeedForwardKind>>(
    {{FeedForwardKind::Relu, "relu"}, {FeedForwardKind::GatedGelu, "gated_gelu"}});

enum class Positions { None, Learned, Relative };
template <>
inline constexpr auto kEnumNames<Positions> =
    std::to_array<EnumName<Positions>>({{Positions::None, "none"},
                                        {Positions::Learned, "learned"},
                                        {Positions::Relative, "relative"}});

}  // namespace convseq
