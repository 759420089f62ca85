#pragma once

#include <string_view>
#include <vector>

namespace convseq {

// A number that changes what an objective makes of a segment.
struct ObjectiveOption {
  std::string_view name;  // in files and, with dashes, as a flag: "noise"; unique to an objective
  std::string_view meaning;  // in messages and in a run's identity: "noise density"
  std::string_view help;
  double min = 0;
  double max = 1;
};

struct ObjectiveNumber {
  ObjectiveOption option;
  double value = 0;
};

// The options of an objective and the members that hold them. Specialise the table beside the
// struct:
//
//   template <>
//   inline constexpr auto kObjectiveFields<MyOptions> = std::to_array<ObjectiveField<MyOptions>>({
//       {{"noise", "noise density", "Share of noise", 0, 1}, &MyOptions::noise_density}});
template <class Options>
struct ObjectiveField {
  ObjectiveOption option;
  double Options::*value;
};

template <class Options>
inline constexpr int kObjectiveFields = 0;

template <class Options>
std::vector<ObjectiveNumber> numbers_of(const Options& options) {
  std::vector<ObjectiveNumber> numbers;
  for (const auto& [option, value] : kObjectiveFields<Options>) {
    numbers.push_back({option, options.*value});
  }
  return numbers;
}

}  // namespace convseq
