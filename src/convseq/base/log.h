#pragma once

#include <fmt/format.h>

#include <string_view>

namespace convseq::log {

enum class Level { Info, Warning, Error };

// Lines go to standard error, so that standard output stays clean for results.
void set_level(Level level);
void write(Level level, std::string_view line);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Info, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Warning, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::Error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace convseq::log
