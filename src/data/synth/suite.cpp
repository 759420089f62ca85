#include "data/synth/suite.h"

#include <stdexcept>

#include "base/json_file.h"
#include "data/line_writer.h"
#include "data/synth/compositional.h"
#include "data/synth/lexical.h"
#include "data/synth/long_range.h"
#include "data/synth/new_folder.h"
#include "data/synth/pair.h"
#include "data/synth/scope.h"
#include "data/synth/span_answer.h"

namespace convseq::synth {
namespace fs = std::filesystem;
namespace {

Json to_json(const Example& example, const std::string& target_field) {
  Json json;
  for (const Input& input : example.inputs) json[input.field] = input.text;
  json[target_field] = example.target;
  if (!example.category.empty()) json["category"] = example.category;
  return json;
}

std::string file_of(Split split) { return fmt::format("{}.jsonl", name_of(split)); }

Json task_json(const TaskDescription& description) {
  Json json = {{"name", description.name}};
  for (Split split : description.splits)
    json["files"][std::string(name_of(split))] = file_of(split);
  json["source"] = description.source;
  json["target"] = "{" + description.target_field + "}";
  if (!description.labels.empty()) json["labels"] = description.labels;
  json["metrics"] = description.metrics;
  return json;
}

void write_task(const fs::path& folder, const TaskData& data) {
  fs::create_directory(folder);
  for (const auto& [split, examples] : data.splits) {
    LineWriter lines(folder / file_of(split));
    for (const Example& example : examples) {
      lines.write(to_json(example, data.description.target_field).dump());
    }
    lines.commit();
  }
  write_json_file(folder / "task.json", task_json(data.description));
}

}  // namespace

std::vector<std::unique_ptr<TaskFamily>> make_families(const SuiteOptions& options) {
  std::vector<std::unique_ptr<TaskFamily>> families;
  const auto add = [&]<class Made>(Made made) {
    families.push_back(std::make_unique<Made>(std::move(made)));
  };
  for (Family family : options.families) {
    switch (family) {
      case Family::Lexical:
        add(Lexical({.seed = options.seed,
                     .sentences = options.sentences,
                     .shown_share = options.shown_share}));
        break;
      case Family::Scope:
        for (int64_t window : options.windows) {
          add(Scope({.seed = options.seed,
                     .window = window,
                     .sentences = options.sentences,
                     .shown_share = options.shown_share}));
        }
        break;
      case Family::LongRange:
        for (int64_t distance : options.distances) {
          add(LongRange({.distance = distance, .cue_words = options.cue_words}));
        }
        break;
      case Family::Compositional:
        add(Compositional({.depth = options.depth, .places = options.places}));
        break;
      case Family::Pair:
        for (int64_t comparisons : options.comparisons) add(Pair({.comparisons = comparisons}));
        break;
      case Family::Span:
        for (int64_t facts : options.facts) {
          add(SpanAnswer({.facts = facts, .sentences = options.sentences}));
        }
        break;
    }
  }
  return families;
}

std::vector<Baseline> write_suite(const fs::path& folder, const SuiteOptions& options) {
  const auto families = make_families(options);
  std::vector<Baseline> baselines;
  write_new_folder(folder, [&](const fs::path& inside) {
    Json report = Json::array();
    for (const auto& family : families) {
      const TaskData data = draw_task(*family, options.sizes, options.seed);
      write_task(inside / data.description.name, data);
      for (const Baseline& row : measure_baselines(*family, data)) {
        if (row.oracle < 1) throw std::logic_error(row.task + ": its solver is not always right");
        report.push_back(row.to_json());
        baselines.push_back(row);
      }
    }
    write_json_file(inside / "baselines.json", report);
  });
  return baselines;
}

}  // namespace convseq::synth
