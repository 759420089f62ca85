#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace convseq {

// The one table between an enum and its names in files and flags. Specialise it beside the enum:
//
//   template <>
//   inline constexpr auto kEnumNames<Mixer> = std::to_array<EnumName<Mixer>>({{Mixer::Light,
//   "light"}, …});
template <class Enum>
using EnumName = std::pair<Enum, std::string_view>;

template <class Enum>
inline constexpr int kEnumNames = 0;

template <class Enum>
concept NamedEnum = std::is_enum_v<Enum> && !std::is_same_v<decltype(kEnumNames<Enum>), const int>;

template <NamedEnum Enum>
std::string_view name_of(Enum value) {
  for (const auto& [each, name] : kEnumNames<Enum>) {
    if (each == value) return name;
  }
  return "?";
}

template <NamedEnum Enum>
std::optional<Enum> enum_from_name(std::string_view wanted) {
  for (const auto& [value, name] : kEnumNames<Enum>) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}

template <NamedEnum Enum>
std::string all_names() {  // "attention, depthwise, light"
  std::string joined;
  for (const auto& entry : kEnumNames<Enum>) {
    joined += (joined.empty() ? "" : ", ") + std::string(entry.second);
  }
  return joined;
}

}  // namespace convseq
