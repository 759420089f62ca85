#include "convseq/data/synth/suite.h"

#include <stdexcept>

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/output_folder.h"
#include "convseq/data/io/line_writer.h"
#include "convseq/data/synth/family/compositional.h"
#include "convseq/data/synth/family/lexical.h"
#include "convseq/data/synth/family/long_range.h"
#include "convseq/data/synth/family/pair.h"
#include "convseq/data/synth/family/scope.h"
#include "convseq/data/synth/family/span_answer.h"

namespace convseq::synth {
namespace fs = std::filesystem;
namespace {

Json to_json(const Example& example, const TaskDescription& description) {
  Json json;
  for (const Input& input : example.inputs) json[input.field] = input.text;
  json[description.target_field] = example.target;
  if (description.has_categories) json["category"] = example.category;
  return json;
}

std::string file_of(Split split) { return fmt::format("{}.jsonl", name_of(split)); }

// In characters: no tokenizer makes more pieces than that, so no deciding text is ever cut off.
struct Longest {
  size_t source = 0, target = 0;
};
Longest longest_of(const TaskData& data) {
  Longest longest;
  for (const auto& [split, examples] : data.splits) {
    for (const Example& example : examples) {
      size_t source = data.description.source.size();
      for (const Input& input : example.inputs) source += input.text.size();
      longest.source = std::max(longest.source, source);
      longest.target = std::max(longest.target, example.target.size());
    }
  }
  return longest;
}

Json task_json(const TaskData& data) {
  const TaskDescription& description = data.description;
  const Longest longest = longest_of(data);
  Json json = {{"name", description.name}, {"description", description.meaning}};
  for (Split split : description.splits) {
    json["files"][std::string(name_of(split))] = file_of(split);
  }
  json["source"] = description.source;
  json["target"] = "{" + description.target_field + "}";
  if (description.has_categories) json["category"] = "category";
  if (!description.labels.empty()) json["labels"] = description.labels;
  if (!description.positive_label.empty()) json["positive_label"] = description.positive_label;
  for (Metric metric : description.metrics) json["metrics"].push_back(name_of(metric));
  json["max_source_tokens"] = longest.source + 2;  // the EOS, and the word-boundary mark
  json["max_target_tokens"] = longest.target + 2;
  return json;
}

void write_task(const fs::path& folder, const TaskData& data) {
  fs::create_directory(folder);
  for (const auto& [split, examples] : data.splits) {
    LineWriter lines(folder / file_of(split));
    for (const Example& example : examples) lines.write(to_json(example, data.description).dump());
    lines.commit();
  }
  write_json_file(folder / "task.json", task_json(data));
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

double suite_memory(const SuiteOptions& options) {
  // Each text is in memory up to three times: in its example, among the texts that are taken, and
  // in the check for leaks. Measured over all families.
  constexpr double kPerByte = 3.6, kPerExample = 400;
  const double examples = static_cast<double>(options.sizes.train) +
                          static_cast<double>(options.sizes.validation) +
                          2 * static_cast<double>(options.sizes.test);
  double most = 0;
  for (const auto& family : make_families(options)) {
    Random random(options.seed);
    const auto group = family->draw_group(Split::Train, 0, random);
    double bytes = 0;
    for (const Example& example : group) {
      for (const Input& input : example.inputs) bytes += static_cast<double>(input.text.size());
    }
    const double each = bytes / static_cast<double>(group.size());
    most = std::max(most, examples * (kPerExample + kPerByte * each));
  }
  return most;
}

std::vector<Baseline> write_suite(const fs::path& folder, const SuiteOptions& options) {
  check_output_folder(folder, FolderKind::Tasks);
  const auto families = make_families(options);
  std::vector<Baseline> baselines;
  write_folder_atomically(folder, [&](const fs::path& inside) {
    Json report = Json::array();
    for (const auto& family : families) {
      const TaskData data =
          draw_task(*family, {.sizes = options.sizes, .seed = options.seed, .poll = options.poll});
      write_task(inside / data.description.name, data);
      options.poll();
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
