#pragma once

#include <string>

namespace convseq {

std::string machine_name();  // "x86_64-2cores"

}  // namespace convseq
