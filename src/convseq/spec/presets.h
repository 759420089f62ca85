#pragma once

#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq {

// The presets of configs/models, built into the program: a family (paper-light) at a size (base) is
// "paper-light-base". A family's file may say what differs at a size under "by_size".
std::vector<std::string> preset_names();

// The families, in the order that MixerKind gives their mixers: {"paper-transformer", …}.
std::vector<std::string> preset_families();

// A preset's name, a config file, or a model folder; then `overrides`, each "key=value" with a JSON
// value (strings also without quotes): {"kernel_sizes=15", "mixer=light"}.
ModelConfig find_model_config(const std::string& name_or_path,
                              const std::vector<std::string>& overrides = {});

}  // namespace convseq
