#include "convseq/study/run/check.h"

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

namespace convseq {
namespace fs = std::filesystem;
namespace {

// Of the results of other machines, or where there is none of those made here.
const Cell* quickest_stored(const StudyPlan& plan, const StudyFolder& folder) {
  const Cell* quickest = nullptr;
  const auto cost = [&](const Cell& cell) {
    return std::pair(!folder.merged().contains(cell.id()),
                     folder.reported(cell.id())->total_seconds);
  };
  for (const Cell& cell : plan.cells()) {
    const bool usable = cell.kind() == CellKind::Finetune && cell.label.start == Start::Scratch &&
                        folder.is_done(cell.id());
    if (!usable || folder.reported(cell.id())->splits.empty()) continue;
    if (quickest == nullptr || cost(cell) < cost(*quickest)) quickest = &cell;
  }
  return quickest;
}

// Waits for other processes. Nothing if this one is interrupted or out of time meanwhile.
std::optional<CellLock> wait_for(const fs::path& file, const WorkerOptions& options) {
  fs::create_directories(file.parent_path());
  while (!options.interrupted() && !options.limit.must_end()) {
    if (auto lock = CellLock::try_to_get(file)) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return std::nullopt;
}

}  // namespace

bool Reproduction::holds() const { return std::abs(stored - again) <= tolerance; }

std::string Reproduction::describe() const {
  return fmt::format("{}: {} was {} and is now {} (allowed difference: {})", cell, metric, stored,
                     again, tolerance);
}

Json Reproduction::to_json() const {
  return {{"cell", cell},
          {"metric", metric},
          {"stored", stored},
          {"again", again},
          {"tolerance", tolerance}};
}

Reproduction Reproduction::from_json(const Json& json) {
  return {.cell = json.at("cell"),
          .metric = json.at("metric"),
          .stored = number_of(json.at("stored")),
          .again = number_of(json.at("again")),
          .tolerance = json.at("tolerance")};
}

std::optional<Reproduction> reproduce_a_cell(StudyPlan& plan, StudyFolder& folder,
                                             CellRunner& runner, const WorkerOptions& options) {
  folder.refresh(plan);
  const Cell* cell = quickest_stored(plan, folder);
  if (cell == nullptr) return std::nullopt;
  const CellResult stored = *folder.reported(cell->id());
  // The tokenizer and the synthetic data, where they are not here yet.
  std::set<std::string> needs;
  plan.add_needs(
      *cell, [&](const std::string& id) { return !folder.has_files(id); }, needs);
  for (const Cell& need : plan.cells()) {  // each comes after those that it needs
    if (!needs.contains(need.id())) continue;
    const auto lock = wait_for(folder.lock_file(need.id()), options);
    if (!lock) return std::nullopt;
    if (folder.has_files(need.id())) continue;  // the other process has made them
    const auto made = runner.run(need, folder.cell(need.id()));
    if (!made || options.interrupted()) return std::nullopt;
    folder.store(*made);
  }
  const fs::path out = folder.path() / "check";
  const auto lock = wait_for(folder.path() / "slots" / "check", options);
  if (!lock) return std::nullopt;
  fs::remove_all(out);  // of a process that was killed
  const auto again = runner.run(*cell, out);
  fs::remove_all(out);
  if (!again) return std::nullopt;
  const std::string split = stored.splits.contains("test") ? "test" : "validation";
  const auto& [metric, value] = stored.splits.at(split).metrics.front();
  return Reproduction{.cell = cell->name(),
                      .metric = split + " " + metric,
                      .stored = value,
                      .again = again->splits.at(split).metrics.front().second,
                      .tolerance = plan.study().tolerance};
}

}  // namespace convseq
