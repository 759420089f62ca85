#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convseq {

// The name that a person most likely meant: the nearest in insertions, deletions, substitutions and
// swaps of neighbours, or one that begins with `given`; "" where none is near.
std::string nearest_name(std::string_view given, const std::vector<std::string>& names);

// "; did you mean cuda?", or "": the end of an error that refuses a name.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& names);

}  // namespace convseq
