#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// What mixes positions in a block.
enum class MixerKind { Attention, Depthwise, Light, Dynamic, Dilated, Gated };
template <>
inline constexpr auto kEnumNames<MixerKind> =
    std::to_array<EnumName<MixerKind>>({{MixerKind::Attention, "attention"},
                                        {MixerKind::Depthwise, "depthwise"},
                                        {MixerKind::Light, "light"},
                                        {MixerKind::Dynamic, "dynamic"},
                                        {MixerKind::Dilated, "dilated"},
                                        {MixerKind::Gated, "gated"}});

inline constexpr MixerKind kDefaultMixer = MixerKind::Light;

}  // namespace convseq
