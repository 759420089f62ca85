#include "convseq/study/report/systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace convseq::report {
namespace {

using Groups =
    std::map<std::tuple<std::string, std::string, Start, std::string, std::string>, System>;

bool before(const CellResult* a, const CellResult* b) {
  return std::tie(a->pretraining_seed, a->seed, a->learning_rate, a->id) <
         std::tie(b->pretraining_seed, b->seed, b->learning_rate, b->id);
}

void add(System& system, const CellResult& result) {
  system.choice.push_back(&result);
  if (!result.chosen || !result.failed.empty() || !result.splits.contains("test")) return;
  system.runs.push_back(&result);
  if (is_collapsed(&result)) system.collapsed.push_back(&result);
}

// Collapsed runs leave the mean, unless the study counts them or there is no other.
void finish(System& system, bool count_collapsed) {
  for (auto* list : {&system.runs, &system.collapsed, &system.choice}) {
    std::sort(list->begin(), list->end(), before);
  }
  const int64_t first = system.choice.front()->seed;
  std::erase_if(system.choice, [&](const CellResult* run) { return run->seed != first; });
  system.counts_collapsed = count_collapsed || system.runs.size() == system.collapsed.size();
  if (system.counts_collapsed) return;
  std::erase_if(system.runs, is_collapsed);
}

}  // namespace

bool is_collapsed(const CellResult* run) { return run->splits.at("test").collapsed; }

std::set<int64_t> System::pretraining_seeds() const {
  std::set<int64_t> seeds;
  if (start == Start::Scratch) return seeds;
  for (const CellResult* run : runs) seeds.insert(run->pretraining_seed);
  return seeds;
}

std::string size_of(const ModelConfig& config) {
  return fmt::format("d={}, {}+{} layers", config.d_model, config.encoder_layers,
                     config.decoder_layers);
}

std::string size_of(const CellResult& result) {
  if (!result.inputs.is_object() || !result.inputs.contains("model")) return "";
  const Json& model = result.inputs["model"];
  return fmt::format("d={}, {}+{} layers", model.value("d_model", 0),
                     model.value("encoder_layers", 0), model.value("decoder_layers", 0));
}

bool fits(const std::string& size, const Model* model) {
  return model == nullptr || size.empty() || size == size_of(model->config);
}

Systems::Systems(const ReportInput& input) : input_(input) {
  Groups groups;
  for (const CellResult& result : input.results) {
    if (result.kind != CellKind::Finetune) continue;
    for (const std::string& part : result.parts) {
      const auto key =
          std::make_tuple(part, result.model, result.start, result.task, size_of(result));
      auto [found, is_new] = groups.try_emplace(key);
      if (is_new) {
        found->second = {.part = part,
                         .model = result.model,
                         .task = result.task,
                         .start = result.start,
                         .size = size_of(result)};
      }
      add(found->second, result);
    }
  }
  for (auto& [key, system] : groups) {
    finish(system, input.count_collapsed);
    if (!system.runs.empty()) systems_.push_back(std::move(system));
  }
  // The order of the study file; what it does not name comes last.
  const auto place = [](const auto& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) - list.begin();
  };
  std::vector<std::string> parts, models, tasks;
  for (const Part& part : input.parts) {
    parts.push_back(part.name);
    tasks.insert(tasks.end(), part.tasks.begin(), part.tasks.end());
  }
  for (const Model& model : input.models) models.push_back(model.name);
  std::stable_sort(systems_.begin(), systems_.end(), [&](const System& a, const System& b) {
    const auto key = [&](const System& s) {
      return std::make_tuple(s.size, place(parts, s.part), place(tasks, s.task), s.task,
                             place(models, s.model), s.model, s.start);
    };
    return key(a) < key(b);
  });
  for (size_t i = 0; i < systems_.size(); ++i) systems_[i].number = static_cast<int64_t>(i) + 1;
}

const System* Systems::find(const std::string& model, Start start, const std::string& task,
                            const std::vector<std::string>& questions) const {
  const Model* own = input_.model(model);
  for (const Part& part : input_.parts) {
    if (!part.asks(questions)) continue;
    for (const System& system : systems_) {
      if (system.part == part.name && system.model == model && system.start == start &&
          system.task == task && fits(system.size, own)) {
        return &system;
      }
    }
  }
  return nullptr;
}

}  // namespace convseq::report
