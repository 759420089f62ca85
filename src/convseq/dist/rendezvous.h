#pragma once

#include <string>

#include "convseq/dist/launch.h"

namespace convseq {

// Broadcasts rank 0's `bytes` to every process through the TCP store at torchrun's MASTER_ADDR and
// MASTER_PORT. Rank 0 returns when all processes have read them.
std::string share_over_tcp(const std::string& bytes, const Launch& launch,
                           const Environment& environment = process_environment);

}  // namespace convseq
