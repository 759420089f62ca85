#include "convseq/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace convseq::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::Info:
      return spdlog::level::info;
    case Level::Warning:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto created = std::make_shared<spdlog::logger>(
        "convseq", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    created->set_pattern("%H:%M:%S %^%l%$ %v");
    return created;
  }();
  return *instance;
}

}  // namespace

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

void write(Level level, std::string_view line) { logger().log(to_spdlog(level), line); }

}  // namespace convseq::log
