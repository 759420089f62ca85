#pragma once

#include "convseq/spec/mixer_description.h"

// The description of every kind of mixer, each defined in the file of its name.
namespace convseq::mixers {

extern const MixerDescription kAttention;
extern const MixerDescription kDepthwise;
extern const MixerDescription kLight;
extern const MixerDescription kDynamic;
extern const MixerDescription kDilated;
extern const MixerDescription kGated;

}  // namespace convseq::mixers
