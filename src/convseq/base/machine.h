#pragma once

#include <cstdint>
#include <string>

namespace convseq {

std::string architecture();  // "x86_64"
std::string machine_name();  // "x86_64-2cores"

unsigned hardware_threads();  // at least 1

// The second-level cache of a core, between 256 KB and 4 MB; 1 MB where the system does not tell.
int64_t l2_cache_bytes();

}  // namespace convseq
