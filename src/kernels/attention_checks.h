#pragma once

#include <initializer_list>

#include "convseq/kernels/attention.h"

namespace convseq::kernels {

// Refuses what the attention kernels cannot do. Apart, for nvcc does not take the formatting of
// messages.
void check_attention(const AttentionShape& shape, std::initializer_list<const AttentionRows*> all);

}  // namespace convseq::kernels
