#include <fmt/format.h>

#include <algorithm>

#include "convseq/base/contains.h"
#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

constexpr const char* kOnePretraining = "one pre-training only";

}  // namespace

const std::vector<std::string> kMainQuestions = {"RQ1", "RQ2", "RQ3", "RQ5", "scale"};

std::vector<const Model*> Context::models(const std::vector<std::string>& questions) const {
  std::vector<const Model*> found;
  for (const Part& part : input.parts) {
    if (!part.asks(questions)) continue;
    for (const std::string& name : part.models) {
      const Model* model = input.model(name);
      if (model != nullptr && !contains(found, model)) found.push_back(model);
    }
  }
  return found;
}

std::vector<std::string> Context::tasks(const std::vector<std::string>& questions) const {
  std::vector<std::string> found;
  for (const Part& part : input.parts) {
    if (!part.asks(questions)) continue;
    for (const std::string& task : part.tasks) {
      if (!contains(found, task)) found.push_back(task);
    }
  }
  return found;
}

const System* Context::find(const Model& model, Start start, const std::string& task) const {
  return systems.find(model.name, start, task, kMainQuestions);
}

const System* Context::find(const Model& model, Start start, const std::string& task,
                            const std::vector<std::string>& questions) const {
  const System* own = systems.find(model.name, start, task, questions);
  return own != nullptr ? own : find(model, start, task);
}

const Model* Context::unchanged(const Model& model) const {
  for (const Model& other : input.models) {
    if (other.preset == model.preset && other.changes.empty()) return &other;
  }
  return nullptr;
}

const CellResult* Context::pretraining_of(const System& system) const {
  const Json& inputs = system.runs.front()->inputs;
  if (!inputs.is_object()) return nullptr;
  const std::string start = inputs.value("start", "");
  for (const CellResult& result : input.results) {
    if (result.kind == CellKind::Pretrain && result.id == start) return &result;
  }
  return nullptr;
}

const Model* Context::transformer() const {
  const Model* found = nullptr;
  for (const Model* model : models(kMainQuestions)) {
    if (!model->is_transformer()) continue;
    if (model->changes.empty()) return model;
    if (found == nullptr) found = model;
  }
  return found;
}

std::vector<std::string> common_tasks(const Context& context,
                                      const std::vector<const Model*>& models, Start start) {
  std::vector<std::string> tasks = context.tasks(kMainQuestions);
  std::erase_if(tasks, [&](const std::string& task) {
    return std::any_of(models.begin(), models.end(), [&](const Model* model) {
      return context.find(*model, start, task) == nullptr;
    });
  });
  return tasks;
}

std::vector<const System*> systems_on(const Context& context, const Model& model, Start start,
                                      const std::vector<std::string>& tasks) {
  std::vector<const System*> systems;
  for (const std::string& task : tasks) systems.push_back(context.find(model, start, task));
  return systems;
}

int64_t fewest_pretrainings(const std::vector<const System*>& systems) {
  int64_t fewest = systems.front()->pretrainings();
  for (const System* system : systems) fewest = std::min(fewest, system->pretrainings());
  return fewest;
}

bool has_single_pretraining(const std::vector<const System*>& systems) {
  return std::any_of(systems.begin(), systems.end(),
                     [](const System* system) { return system->pretrainings() == 1; });
}

std::string luck_text(bool single) { return single ? fmt::format("; {}", kOnePretraining) : ""; }

std::string luck_note(bool single) { return single ? fmt::format(" ({})", kOnePretraining) : ""; }

std::string budget_of(const CellResult& pretraining) {
  return short_count(static_cast<double>(pretraining.source_tokens));
}

std::vector<std::string> run_links(const std::vector<const System*>& systems) {
  std::vector<std::string> links;
  for (const System* system : systems) {
    if (system != nullptr) links.push_back(std::to_string(system->number));
  }
  return links;
}

std::string title_of(Start start) {
  switch (start) {
    case Start::Scratch:
      return "scratch";
    case Start::Pretrained:
      return "pre-trained";
    case Start::Self:
      return "own text";
  }
  return kMissing;
}

std::string sentence_start_of(Start start) {
  if (start == Start::Scratch) return "From scratch";
  return start == Start::Pretrained ? "Pre-trained" : "Pre-trained on the task's own text";
}

std::string task_title(const std::string& task, const System& system, const std::string& metric) {
  const bool plain = metric == "accuracy" && metric == main_metric(system);
  return plain ? task : fmt::format("{} ({})", task, metric);
}

void add_difference(std::vector<TableCell>& row, const std::optional<Estimate>& difference) {
  row.emplace_back(difference ? difference_text(*difference) : kMissing);
  row.emplace_back(difference ? text_of(finding_of(*difference)) : kMissing);
}

std::optional<Estimate> difference_to(const System& system, const System* other) {
  if (other == nullptr) return {};
  return difference_of(system, *other, {main_metric(system)});
}

Interval in_percent(const Interval& interval) { return {100 * interval.low, 100 * interval.high}; }

Interval score_interval(const Estimate& estimate) {
  const Interval interval = in_percent(estimate.interval);
  return {std::max(0.0, interval.low), std::min(100.0, interval.high)};
}

std::vector<double> scores_by_run(const System& system, const std::string& metric) {
  std::vector<double> scores;
  for (const CellResult* run : system.runs) {
    scores.push_back(100 * run->splits.at("test").metric(metric));
  }
  return scores;
}

LineChart::Point score_point(double x, const System& system) {
  const Estimate estimate = figure_of(system).estimate;
  return {x, 100 * estimate.value, score_interval(estimate),
          scores_by_run(system, main_metric(system))};
}

}  // namespace convseq::report
