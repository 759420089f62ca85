#include "convseq/bench/benchmark_report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>

namespace convseq::bench {
namespace {

std::string first_line_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  for (int c = std::fgetc(pipe); c != EOF && c != '\n'; c = std::fgetc(pipe)) {
    text.push_back(static_cast<char>(c));
  }
  ::pclose(pipe);
  return text;
}

std::string commit() {
  if (const char* given = std::getenv("CONVSEQ_COMMIT")) return given;
  const std::string found = first_line_of("git -C " CONVSEQ_SOURCE_DIR
                                          " describe --always --dirty --exclude '*' 2>/dev/null");
  return found.empty() ? "unknown" : found;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return date;
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const Row& row) {
  return {{"name", row.name},
          {"value", row.value},
          {"unit", row.unit},
          {"floor", or_null(row.floor)},
          {"peer", row.peer.empty() ? Json() : Json(row.peer)},
          {"peer_value", or_null(row.peer_value)},
          {"ratio", or_null(row.ratio)}};
}

}  // namespace

void print(const Row& row) {
  fmt::print("{:<44} {:>12.4g} {:<16}", row.name, row.value, row.unit);
  if (row.floor) fmt::print(" floor {:.4g}", *row.floor);
  if (row.peer_value) fmt::print("  {} {:.4g}", row.peer, *row.peer_value);
  if (row.ratio) fmt::print("  ratio {:.3f}", *row.ratio);
  fmt::print("\n");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<JsonObject> read_peer_lines(const std::filesystem::path& path,
                                        const std::string& script) {
  std::vector<JsonObject> objects;
  std::istringstream lines(read_text_file(path));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] != '{') continue;  // other output of Python
    const std::string origin = fmt::format("{}:{}", path.string(), number);
    objects.emplace_back(parse_json(line, origin), origin);
  }
  require(!objects.empty(), "{}: no lines of {}", path.string(), script);
  return objects;
}

Json to_json(const Report& report) {
  Json rows = Json::array();
  for (const Row& row : report.rows) rows.push_back(to_json(row));
  return {{"date", today()},
          {"commit", commit()},
          {"command", report.command},
          {"machine", report.machine},
          {"results", rows}};
}

void report(const std::string& what, const std::string& command, const std::vector<Row>& rows) {
  for (const Row& row : rows) print(row);
  const Report whole{.command = command, .rows = rows};
  write_json_file(
      fmt::format("{}/bench/results/{}-{}.json", CONVSEQ_SOURCE_DIR, what, whole.machine),
      to_json(whole));
}

}  // namespace convseq::bench
