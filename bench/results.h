#pragma once

#include <sys/utsname.h>

#include <ctime>
#include <optional>
#include <thread>

#include "base/json_file.h"

namespace convseq::bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> floor;  // what it must reach (or stay under, where less is better)
  std::string peer;             // who else was measured in the same run
  std::optional<double> peer_value;
  std::optional<double> ratio;  // to the peer, or to the floor
};

inline std::string machine_name() {  // "x86_64-2cores"
  utsname system{};
  ::uname(&system);
  return fmt::format("{}-{}cores", system.machine, std::thread::hardware_concurrency());
}

inline std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF && c != '\n'; c = std::fgetc(pipe)) {
    text.push_back(static_cast<char>(c));
  }
  ::pclose(pipe);
  return text;
}

inline void print(const Row& row) {
  fmt::print("{:<44} {:>12.4g} {:<16}", row.name, row.value, row.unit);
  if (row.floor) fmt::print(" floor {:.4g}", *row.floor);
  if (row.peer_value) fmt::print("  {} {:.4g}", row.peer, *row.peer_value);
  if (row.ratio) fmt::print("  ratio {:.3f}", *row.ratio);
  fmt::print("\n");
}

// Prints the rows as a table and replaces bench/results/<what>-<machine>.json.
inline void report(const std::string& what, const std::string& command,
                   const std::vector<Row>& rows) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  Json json = {{"date", date},
               {"commit", output_of("git -C " CONVSEQ_SOURCE_DIR " rev-parse --short HEAD")},
               {"command", command},
               {"machine", machine_name()},
               {"results", Json::array()}};
  for (const Row& row : rows) {
    json["results"].push_back({{"name", row.name},
                               {"value", row.value},
                               {"unit", row.unit},
                               {"floor", or_null(row.floor)},
                               {"peer", row.peer.empty() ? Json() : Json(row.peer)},
                               {"peer_value", or_null(row.peer_value)},
                               {"ratio", or_null(row.ratio)}});
    print(row);
  }
  write_json_file(
      fmt::format("{}/bench/results/{}-{}.json", CONVSEQ_SOURCE_DIR, what, machine_name()), json);
}

}  // namespace convseq::bench
