#include "convseq/study/run/overview.h"

#include <algorithm>

#include "convseq/base/memory.h"
#include "convseq/study/run/cell_lock.h"

namespace convseq {
namespace {

std::string large(double count) {
  if (count >= 1e9) return fmt::format("{:.2f}B", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.1f}M", count / 1e6);
  return fmt::format("{:.0f}", count);
}

std::string minutes(double seconds, bool known) {
  return known ? fmt::format("{:.1f}", seconds / 60) : "unknown";
}

void count(const CellCost& cost, bool left, int64_t times, PartOverview& part) {
  const auto n = static_cast<double>(times);
  part.tokens += n * cost.tokens;
  part.steps += n * cost.steps;
  part.seconds += n * cost.seconds;
  if (left) part.seconds_left += n * cost.seconds;
}

void add(const PartOverview& part, PartOverview& total) {
  total.pretrainings += part.pretrainings;
  total.finetunings += part.finetunings;
  total.done += part.done;
  total.failed += part.failed;
  total.running += part.running;
  total.left += part.left;
  total.tokens += part.tokens;
  total.steps += part.steps;
  total.seconds += part.seconds;
  total.seconds_left += part.seconds_left;
  total.seconds_known = total.seconds_known && part.seconds_known;
}

}  // namespace

StudyOverview overview(const StudyPlan& plan, const StudyFolder& folder, const CellFilter& filter,
                       const DataDigests& digests) {
  StudyOverview all{.name = plan.study().name, .missing_data = digests.missing()};
  CostModel costs(plan, folder);
  const auto part_of = [&](const std::string& name) -> PartOverview& {
    for (PartOverview& part : all.parts) {
      if (part.part == name) return part;
    }
    fail("{} is no part of the study", name);
  };
  for (const StudyPart& part : plan.study().parts) {
    all.parts.push_back({.part = part.name, .question = part.question});
  }
  const std::set<std::string> relevant = filter.with_needs(plan);
  for (const Cell& cell : plan.cells()) {
    if (!relevant.contains(cell.id())) continue;
    PartOverview& part = part_of(cell.label.parts.front());
    const CellResult* failure = folder.failure(cell.id());
    const bool done = folder.is_done(cell.id());
    // A result of another machine makes up for a failure here, unless a cell needs the files.
    const bool failed = failure != nullptr && (!done || has_work_left(cell, plan, folder));
    // Also one with a result of another machine, whose files are made here.
    const bool running =
        !folder.has_files(cell.id()) && CellLock::is_held(folder.lock_file(cell.id()));
    if (running) all.running.push_back(cell.name());
    if (failed) all.failures.push_back(cell.name() + ": " + failure->failed);
    if (!filter.takes(cell)) continue;  // only what stops others is of interest
    if (cell.kind() != CellKind::Pretrain && cell.kind() != CellKind::Finetune) continue;
    ++(cell.kind() == CellKind::Pretrain ? part.pretrainings : part.finetunings);
    ++(done ? part.done : failed ? part.failed : running ? part.running : part.left);
    const CellCost cost = costs.of(cell);
    part.seconds_known = part.seconds_known && (cost.seconds > 0 || failed);
    all.disk_bytes += cost.bytes;
    count(cost, !done && !failed, 1, part);
  }
  for (const StudyPlan::Group& group : plan.groups()) {
    const Cell& first = *plan.find(group.first_runs.front());
    if (group.chosen || group.failed) continue;
    // A group of several parts is counted once, in its first part.
    if (first.label.parts.front() != group.part) continue;
    std::vector<Cell> runs;  // at any of the rates that may be chosen
    for (const std::string& id : group.first_runs) runs.push_back(*plan.find(id));
    int64_t coming = 0;
    for (int64_t seed = 2; seed <= group.seeds; ++seed) {
      coming += std::ranges::any_of(runs, [&](Cell& run) {
        run.label.seed = seed;
        return filter.takes(run);
      });
    }
    PartOverview& part = part_of(group.part);
    part.finetunings += coming;
    part.left += coming;
    count(costs.of(first), true, coming, part);
  }
  for (const PartOverview& part : all.parts) add(part, all.total);
  all.total.part = "total";
  return all;
}

std::string StudyOverview::plan_text() const {
  std::string text =
      fmt::format("{:<12} {:<20} {:>12} {:>11} {:>9} {:>9} {:>8} {:>8}\n", "part", "question",
                  "pre-training", "fine-tuning", "tokens", "steps", "minutes", "left");
  const auto line = [&](const PartOverview& part) {
    text += fmt::format("{:<12} {:<20} {:>12} {:>11} {:>9} {:>9} {:>8} {:>8}\n", part.part,
                        part.question, part.pretrainings, part.finetunings, large(part.tokens),
                        large(part.steps), minutes(part.seconds, part.seconds_known),
                        minutes(part.seconds_left, part.seconds_known));
  };
  for (const PartOverview& part : parts) line(part);
  line(total);
  text += fmt::format(
      "minutes are those of cells run one after another; pre-trained models take "
      "{}\n",
      short_bytes(disk_bytes));
  return text + missing_text();
}

std::string StudyOverview::missing_text() const {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(missing_data.size(), kShown); ++i) {
    text += "missing: " + missing_data[i] + "\n";
  }
  if (missing_data.size() > kShown) {
    text += fmt::format("missing: {} more\n", missing_data.size() - kShown);
  }
  return text;
}

std::string StudyOverview::status_text() const {
  std::string text = fmt::format("{:<20} {:>8} {:>8} {:>8} {:>8} {:>14}\n", "part", "done",
                                 "running", "failed", "left", "minutes left");
  const auto line = [&](const PartOverview& part) {
    text +=
        fmt::format("{:<20} {:>8} {:>8} {:>8} {:>8} {:>14}\n", part.part, part.done, part.running,
                    part.failed, part.left, minutes(part.seconds_left, part.seconds_known));
  };
  for (const PartOverview& part : parts) line(part);
  line(total);
  for (const std::string& cell : running) text += "running: " + cell + "\n";
  for (const std::string& failure : failures) text += "failed: " + failure + "\n";
  return text + missing_text();
}

Json StudyOverview::to_json() const {
  const auto describe = [](const PartOverview& part) {
    return Json{
        {"part", part.part},
        {"question", part.question},
        {"pretrainings", part.pretrainings},
        {"finetunings", part.finetunings},
        {"done", part.done},
        {"running", part.running},
        {"failed", part.failed},
        {"left", part.left},
        {"tokens", part.tokens},
        {"steps", part.steps},
        {"minutes", part.seconds_known ? Json(part.seconds / 60) : Json(nullptr)},
        {"minutes_left", part.seconds_known ? Json(part.seconds_left / 60) : Json(nullptr)}};
  };
  Json json = {{"study", name}, {"parts", Json::array()}, {"total", describe(total)}};
  for (const PartOverview& part : parts) json["parts"].push_back(describe(part));
  json["disk_bytes"] = disk_bytes;
  json["missing_data"] = missing_data;
  json["running"] = running;
  json["failures"] = failures;
  return json;
}

}  // namespace convseq
