#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/base/machine.h"

namespace convseq::bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> floor;  // the bound: to reach, or to stay under where less is better
  std::string peer;             // another implementation, measured in the same run
  std::optional<double> peer_value;
  std::optional<double> ratio;  // to the peer, or to the floor
};

void print(const Row& row);

// Of several timings; the upper one of two in the middle.
double median(std::vector<double> values);

using convseq::machine_name;

// The lines of a peer's output that are JSON objects; an Error if there are none. `script` wrote
// it.
std::vector<JsonObject> read_peer_lines(const std::filesystem::path& path,
                                        const std::string& script);

// What bench/results/*.json holds.
struct Report {
  std::string command;
  std::string machine = machine_name();
  std::vector<Row> rows;
};

// Adds today's date and the commit of the sources; CONVSEQ_COMMIT names it if they are not a git
// checkout.
Json to_json(const Report& report);

// Prints the rows and replaces bench/results/<what>-<machine>.json of the sources.
void report(const std::string& what, const std::string& command, const std::vector<Row>& rows);

}  // namespace convseq::bench
