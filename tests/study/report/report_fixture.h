#pragma once

#include <regex>
#include <string>

#include "convseq/spec/presets.h"
#include "convseq/study/report/report_input.h"

namespace convseq::report::testing {

inline const std::filesystem::path kFolder =
    std::filesystem::path(CONVSEQ_SOURCE_DIR) / "tests/study/report";

inline Model make_model(const std::string& name, const std::string& preset,
                        const std::vector<std::string>& changes = {}) {
  return {name, preset, changes, find_model_config(preset, changes)};
}

// The made-up study of make_scores.py.
inline ReportInput example_study() {
  return {.name = "example",
          .description = "Made-up scores.",
          .command = "convseq study report example.json --out example",
          .parts = {{"main",
                     {"RQ1", "RQ2", "RQ3", "RQ5"},
                     {"transformer", "light", "dynamic"},
                     {"sst2", "jigsaw_wiki", "cogs"},
                     72},
                    {"attention", {"RQ4"}, {"light_attention"}, {"sst2"}},
                    {"ablations", {"ablations"}, {"light_no_glu"}, {"sst2"}},
                    {"budgets", {"tokens"}, {"light"}, {"sst2"}},
                    {"self", {"self"}, {"light"}, {"sst2"}},
                    {"distance",
                     {"distance"},
                     {"transformer", "light"},
                     {"long_range_8", "long_range_128"}}},
          .models = {make_model("transformer", "paper-transformer-mini"),
                     make_model("light", "paper-light-mini"),
                     make_model("dynamic", "paper-dynamic-mini"),
                     make_model("light_attention", "paper-light-mini",
                                {"encoder_attention_layers=[1]"}),
                     make_model("light_no_glu", "paper-light-mini", {"glu=false"})},
          .results = read_scores(kFolder / "scores.jsonl")};
}

// Whether every tag that is opened is closed in its place.
inline bool balanced(const std::string& markup) {
  static const std::regex tag("<(/?)([a-zA-Z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator found(markup.begin(), markup.end(), tag), end; found != end; ++found) {
    const std::string name = (*found)[2];
    if ((*found)[3].length() > 0 || name == "meta") continue;
    if ((*found)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace convseq::report::testing
