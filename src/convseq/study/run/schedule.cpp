#include "convseq/study/run/schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "convseq/base/contains.h"
#include "convseq/base/nearest_name.h"
#include "convseq/study/run/cell_lock.h"

namespace convseq {
namespace {

const std::vector<std::string> kNames = {"part",  "kind", "model",         "mixer",
                                         "start", "task", "learning_rate", "seed"};

// "0.03" for "3e-2"; what is no number stays as it is.
std::string rate_text(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? fmt::format("{}", rate) : text;
}

std::string mixer_of(const Cell& cell) {
  if (const auto* work = std::get_if<FinetuneWork>(&cell.work)) {
    return std::string(name_of(work->model.mixer));
  }
  if (const auto* work = std::get_if<PretrainWork>(&cell.work)) {
    return std::string(name_of(work->model.mixer));
  }
  return "";
}

std::vector<std::string> values_of(const Cell& cell, const std::string& name) {
  const CellResult& label = cell.label;
  if (name == "part") return label.parts;
  if (name == "kind") return {std::string(name_of(label.kind))};
  if (name == "model") return cell.models;
  if (name == "mixer") return {mixer_of(cell)};
  if (name == "start") return {std::string(name_of(label.start))};
  if (name == "task") return {label.task};
  if (name == "learning_rate") return {fmt::format("{}", label.learning_rate)};
  return {std::to_string(label.seed)};
}

class Scheduler {
 public:
  Scheduler(const StudyPlan& plan, const StudyFolder& folder) : plan_(plan), folder_(folder) {}

  // Adds the cell and those it needs, where their files are not here.
  void want(const Cell& cell) {
    wanted_.insert(cell.id());
    const auto lacks_files = [&](const std::string& id) { return !folder_.has_files(id); };
    plan_.add_needs(cell, lacks_files, wanted_);
  }

  CellState state_of(const Cell& cell) {
    if (folder_.has_failed(cell.id())) return CellState::Failed;
    bool waits = false;
    for (const std::string& need : cell.needs) {
      if (folder_.has_files(need)) continue;
      waits = true;
      const CellState state = state_of(*plan_.find(need));
      if (state == CellState::Failed || state == CellState::Blocked) return CellState::Blocked;
    }
    if (waits) return CellState::Waiting;
    return CellLock::is_held(folder_.lock_file(cell.id())) ? CellState::Running : CellState::Ready;
  }

  std::vector<ScheduledCell> in_order() {
    std::vector<ScheduledCell> cells;
    for (const std::string& id : wanted_) {
      const Cell* cell = plan_.find(id);
      cells.push_back({cell, state_of(*cell)});
    }
    std::sort(cells.begin(), cells.end(), [](const ScheduledCell& a, const ScheduledCell& b) {
      return a.cell->order < b.cell->order;
    });
    return cells;
  }

 private:
  const StudyPlan& plan_;
  const StudyFolder& folder_;
  std::set<std::string> wanted_;
};

}  // namespace

CellFilter::CellFilter(const std::vector<std::string>& conditions) {
  for (const std::string& condition : conditions) {
    const size_t equals = condition.find('=');
    require(equals != condition.npos, "{}: {} is no NAME=VALUE", OptionName("only"), condition);
    const std::string name = condition.substr(0, equals);
    require(contains(kNames, name), "{}: {} is no property of a cell; allowed: {}{}",
            OptionName("only"), name, fmt::join(kNames, ", "), did_you_mean(name, kNames));
    allowed_[name].insert(name == "learning_rate" ? rate_text(condition.substr(equals + 1))
                                                  : condition.substr(equals + 1));
  }
}

void CellFilter::refuse_unknown(const StudyPlan& plan) const {
  for (const auto& [name, values] : allowed_) {
    if (name == "seed") continue;  // further ones follow when a learning rate is chosen
    std::vector<std::string> known;
    for (const Cell& cell : plan.cells()) {
      for (const std::string& value : values_of(cell, name)) {
        if (!value.empty() && !contains(known, value)) {
          known.push_back(value);
        }
      }
    }
    for (const std::string& value : values) {
      require(contains(known, value), "{} {}={}: the study has none; it has: {}{}",
              OptionName("only"), name, value, fmt::join(known, ", "), did_you_mean(value, known));
    }
  }
}

bool CellFilter::takes(const Cell& cell) const {
  return std::all_of(allowed_.begin(), allowed_.end(), [&](const auto& condition) {
    const std::vector<std::string> values = values_of(cell, condition.first);
    return std::any_of(values.begin(), values.end(),
                       [&](const std::string& value) { return condition.second.contains(value); });
  });
}

std::set<std::string> CellFilter::with_needs(const StudyPlan& plan) const {
  std::set<std::string> ids;
  for (const Cell& cell : plan.cells()) {
    if (!takes(cell)) continue;
    ids.insert(cell.id());
    plan.add_needs(
        cell, [](const std::string&) { return true; }, ids);
  }
  return ids;
}

bool has_work_left(const Cell& cell, const StudyPlan& plan, const StudyFolder& folder) {
  return std::ranges::any_of(plan.cells(), [&](const Cell& other) {
    return contains(other.needs, cell.id()) && !folder.is_done(other.id());
  });
}

std::vector<ScheduledCell> schedule(const StudyPlan& plan, const StudyFolder& folder,
                                    const CellFilter& filter) {
  Scheduler scheduler(plan, folder);
  for (const Cell& cell : plan.cells()) {
    if (!filter.takes(cell)) continue;
    const bool lacks_files = filter.names("kind") && cell.kind() == CellKind::Pretrain &&
                             !folder.has_files(cell.id()) && has_work_left(cell, plan, folder);
    if (lacks_files || !folder.is_done(cell.id())) scheduler.want(cell);
  }
  return scheduler.in_order();
}

}  // namespace convseq
