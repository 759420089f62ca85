#include "convseq/study/run/worker.h"

#include <algorithm>
#include <thread>

#include "convseq/base/counted.h"
#include "convseq/base/log.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);

// A pre-training keeps a GPU busy alone, so only a few run side by side.
std::optional<CellLock> pretraining_slot(const StudyFolder& folder, int64_t slots) {
  fs::create_directories(folder.path() / "slots");
  for (int64_t i = 0; i < slots; ++i) {
    auto slot = CellLock::try_to_get(folder.path() / "slots" / fmt::format("pretraining-{}", i));
    if (slot) return slot;
  }
  return std::nullopt;
}

// A cell that this process now holds, with the slot it needs.
struct HeldCell {
  const Cell* cell;
  CellLock lock;
  std::optional<CellLock> slot;
};

class Worker {
 public:
  Worker(StudyPlan& plan, StudyFolder& folder, CellRunner& runner, const WorkerOptions& options)
      : plan_(plan), folder_(folder), runner_(runner), options_(options) {}

  void go() {
    while (true) {
      const std::vector<ScheduledCell> cells = look();
      if (options_.interrupted() || !options_.limit.may_begin()) return;
      if (auto held = take(cells)) {
        compute(*held);
        options_.pool.end();  // not after an Error: that is a death
        continue;
      }
      const bool others_work = std::any_of(cells.begin(), cells.end(), [](const auto& each) {
        return each.state == CellState::Running || each.state == CellState::Ready;
      });
      if (!others_work) return;
      std::this_thread::sleep_for(kPause);
    }
  }

 private:
  std::vector<ScheduledCell> look() {
    folder_.refresh(plan_);
    return schedule(plan_, folder_, options_.only);
  }

  // In a pool a pre-training comes first, also before the runs of earlier parts: much waits for it,
  // and the other workers fine-tune meanwhile.
  std::optional<HeldCell> take(std::vector<ScheduledCell> cells) {
    if (neighbours_.is_set() && !neighbours_.allows(running_beside(nullptr))) return std::nullopt;
    if (options_.pool.connected()) {
      std::stable_partition(cells.begin(), cells.end(), [](const ScheduledCell& each) {
        return each.cell->kind() == CellKind::Pretrain;
      });
    }
    for (const auto& [cell, state] : cells) {
      if (state != CellState::Ready) continue;
      std::optional<CellLock> slot;
      if (cell->kind() == CellKind::Pretrain) {
        slot = pretraining_slot(folder_, plan_.study().pretraining_jobs);
        if (!slot) continue;
      }
      fs::create_directories(folder_.cell(cell->id()));
      auto lock = CellLock::try_to_get(folder_.lock_file(cell->id()));
      // Another process may have finished it, or failed in it, since we looked.
      if (!lock || folder_.is_settled(cell->id())) continue;
      options_.pool.begin(cell->id(), *lock);
      lock->sign();
      return HeldCell{cell, std::move(*lock), std::move(slot)};
    }
    return std::nullopt;
  }

  // Also those that the filter does not take: they are on the GPU as well.
  int64_t running_beside(const Cell* own) const {
    const auto all = schedule(plan_, folder_, CellFilter());
    return std::count_if(all.begin(), all.end(), [&](const ScheduledCell& each) {
      return each.state == CellState::Running && each.cell != own;
    });
  }

  void compute(const HeldCell& held) {
    const Cell& cell = *held.cell;
    try {
      log::set_level(log::Level::Error);  // one line per cell is enough
      const auto result = runner_.run(cell, folder_.cell(cell.id()));
      log::set_level(log::Level::Info);
      if (!result) return;  // stopped
      folder_.store(*result);
      log::info("{}", describe(*result));
    } catch (const std::exception& error) {
      log::set_level(log::Level::Info);
      if (leaves_for_later(cell, error)) return;
      CellResult failure = cell.label;
      const std::string what = error.what();
      failure.failed = what.substr(0, what.find('\n'));  // libtorch appends a backtrace
      const bool usable = runner_.device_is_usable();
      // A pool gives the cell to a new process: another one's fault may have reached this one.
      if (usable || !options_.pool.connected()) folder_.store(failure);
      if (!usable) {
        throw Error(fmt::format("{}: {}; this process cannot use the GPU any more", cell.name(),
                                failure.failed),
                    Error::Cause::Failure);
      }
      log::warning("{}: failed: {}", cell.name(), failure.failed);
    }
  }

  // Where the memory of a GPU did not last beside what others compute.
  bool leaves_for_later(const Cell& cell, const std::exception& error) {
    if (dynamic_cast<const c10::OutOfMemoryError*>(&error) == nullptr) return false;
    const int64_t others = running_beside(&cell);
    if (!neighbours_.lower_below(others)) return false;
    log::warning(
        "{}: the memory of the GPU does not last beside {} that others compute; it is "
        "computed when there are fewer",
        cell.name(), counted(others, "cell"));
    return true;
  }

  StudyPlan& plan_;
  StudyFolder& folder_;
  CellRunner& runner_;
  const WorkerOptions& options_;
  NeighbourLimit neighbours_;
};

}  // namespace

void work_on(StudyPlan& plan, StudyFolder& folder, CellRunner& runner,
             const WorkerOptions& options) {
  Worker(plan, folder, runner, options).go();
}

std::string describe(const CellResult& result) {
  const Cell named{.label = result};
  std::string text = named.name() + ":";
  for (const auto& [split, scores] : result.splits) {
    text += fmt::format(" {} {} {:.4f}{}", split, scores.metrics.front().first,
                        scores.metrics.front().second, scores.collapsed ? " (collapsed)" : "");
  }
  if (result.kind == CellKind::Pretrain) text += fmt::format(" nll {:.4f}", result.nll);
  return text + fmt::format(" {:.1f} s", result.total_seconds);
}

}  // namespace convseq
