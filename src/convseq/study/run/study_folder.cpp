#include "convseq/study/run/study_folder.h"

#include <cmath>
#include <optional>
#include <utility>

#include "convseq/base/file/system_error.h"
#include "convseq/study/run/cell_lock.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr const char* kResult = "result.json";
constexpr const char* kFailed = "failed.json";
constexpr const char* kRetried = "retried.json";
constexpr const char* kMerged = "merged.jsonl";
constexpr const char* kScores = "scores.jsonl";

// Scores alone, as in results/ of the repository, would be replaced by those of no cells.
bool has_cells(const fs::path& folder) {
  return fs::exists(folder / "cells") || fs::exists(folder / kMerged);
}

CellResult read_result(const fs::path& file) {
  return CellResult::from_json(JsonObject::from_file(file));
}

// Another process may remove a failure at any moment.
std::optional<CellResult> read_if_there(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  try {
    return read_result(file);
  } catch (const Error&) {
    if (!fs::exists(file)) return std::nullopt;
    throw;
  }
}

// The numbers by which two results of a cell are compared.
std::map<std::string, double> numbers_of(const CellResult& result) {
  std::map<std::string, double> numbers;
  if (result.kind == CellKind::Pretrain) numbers["nll"] = result.nll;
  for (const auto& [split, scores] : result.splits) {
    for (const auto& [metric, value] : scores.metrics) numbers[split + " " + metric] = value;
  }
  return numbers;
}

std::optional<std::string> difference(const CellResult& first, const CellResult& second) {
  const auto others = numbers_of(second);
  for (const auto& [name, value] : numbers_of(first)) {
    const auto other = others.find(name);
    const bool same = other != others.end() && (other->second == value || std::isnan(value));
    if (same) continue;
    return fmt::format("{} {} {} {}: {} is {} and {}", first.id, first.model, first.task,
                       name_of(first.start), name, value,
                       other == others.end() ? std::nan("") : other->second);
  }
  return std::nullopt;
}

}  // namespace

StudyFolder::StudyFolder(fs::path path, bool create) : path_(std::move(path)) {
  std::error_code not_there;
  const auto bytes = fs::file_size(path_ / kScores, not_there);
  require(not_there || bytes == 0 || has_cells(path_),
          "{0}: has scores without their cells; merge {0} into another folder", path_.string());
  if (create) {
    std::error_code error;
    fs::create_directories(path_ / "cells", error);
    if (error) fail_to("create", path_, error.value());
  }
  read_merged();
}

void StudyFolder::read_merged() {
  std::error_code not_there;
  const auto time = fs::last_write_time(path_ / kMerged, not_there);
  if (not_there || time == std::exchange(merged_time_, time)) return;
  merged_.clear();
  for (CellResult& result : read_scores(path_ / kMerged)) {
    merged_.emplace(result.id, std::move(result));
  }
}

void StudyFolder::refresh(StudyPlan& plan) { refresh(plan, Retried::Left); }

void StudyFolder::refresh(StudyPlan& plan, Retried retried) {
  read_merged();
  read_results(plan, retried);
  plan.choose([&](const std::string& id) { return reported(id); });
  read_results(plan, retried);  // of the cells that this added
}

void StudyFolder::read_results(const StudyPlan& plan, Retried retried) {
  for (const Cell& cell : plan.cells()) {
    const std::string& id = cell.id();
    const auto known = results_.find(id);
    if (known != results_.end() && known->second.failed.empty()) continue;
    auto found = read_if_there(this->cell(id) / kResult);
    if (!found) found = read_if_there(this->cell(id) / kFailed);
    if (!found && retried == Retried::Failed) found = read_if_there(this->cell(id) / kRetried);
    if (found) {
      results_.insert_or_assign(id, std::move(*found));
    } else {
      results_.erase(id);  // another process computes a failed cell again
    }
  }
}

// A result made here takes precedence while the study runs: its files are here.
const CellResult* StudyFolder::result(const std::string& id) const {
  const auto here = results_.find(id);
  if (here != results_.end() && here->second.failed.empty()) return &here->second;
  const auto merged = merged_.find(id);
  if (merged != merged_.end()) return &merged->second;
  return here != results_.end() ? &here->second : nullptr;
}

const CellResult* StudyFolder::reported(const std::string& id) const {
  const CellResult* found = result(id);
  const auto merged = merged_.find(id);
  const bool older =
      found != nullptr && merged != merged_.end() && merged->second.finished < found->finished;
  return older ? &merged->second : found;
}

bool StudyFolder::is_done(const std::string& id) const {
  const CellResult* found = result(id);
  return found != nullptr && found->failed.empty();
}

// Also where another machine has a result: a cell that needs its files cannot be computed here.
const CellResult* StudyFolder::failure(const std::string& id) const {
  const auto here = results_.find(id);
  return here != results_.end() && !here->second.failed.empty() ? &here->second : nullptr;
}

bool StudyFolder::has_files(const std::string& id) const { return fs::exists(cell(id) / kResult); }

bool StudyFolder::is_settled(const std::string& id) const {
  return has_files(id) || fs::exists(cell(id) / kFailed);
}

void StudyFolder::store(const CellResult& result) {
  fs::create_directories(cell(result.id));
  const bool failed = !result.failed.empty();
  write_json_file(cell(result.id) / (failed ? kFailed : kResult), result.to_json());
  if (!failed) fs::remove(cell(result.id) / kFailed);
  fs::remove(cell(result.id) / kRetried);
  results_.insert_or_assign(result.id, result);
}

void StudyFolder::retry(const std::string& id) {
  std::error_code not_failed;
  fs::rename(cell(id) / kFailed, cell(id) / kRetried, not_failed);
  fs::remove(cell(id) / "deaths");
  if (has_failed(id)) results_.erase(id);
}

std::map<std::string, CellResult> StudyFolder::local_results() const {
  std::map<std::string, CellResult> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_ / "cells", error)) {
    if (!fs::exists(entry.path() / kResult)) continue;
    CellResult result = read_result(entry.path() / kResult);
    found.emplace(result.id, std::move(result));
  }
  return found;
}

std::vector<CellResult> StudyFolder::results_in(const fs::path& source) {
  require(fs::exists(source), "{}: no such study folder or scores file", source.string());
  if (!has_cells(source)) return read_scores(fs::is_directory(source) ? source / kScores : source);
  const StudyFolder other(source, false);
  std::vector<CellResult> found;
  for (const auto& [id, result] : other.local_results()) found.push_back(result);
  for (const auto& [id, result] : other.merged()) found.push_back(result);
  return found;
}

MergeReport StudyFolder::merge(const std::vector<fs::path>& sources) {
  std::vector<std::pair<fs::path, std::vector<CellResult>>> given;
  for (const fs::path& source : sources) given.emplace_back(source, results_in(source));
  // Only now: sources that cannot be read leave no folder.
  fs::create_directories(path_ / "cells");
  fs::create_directories(path_ / "slots");
  const CellLock lock = CellLock::wait_for(path_ / "slots" / "merge");
  merged_time_ = {};  // another process may have merged within one tick of the file's clock
  read_merged();
  MergeReport report;
  const std::map<std::string, CellResult> here = local_results();
  const auto take = [&](const CellResult& result, const fs::path& source) {
    if (!result.failed.empty()) return;
    const auto local = here.find(result.id);
    const auto merged = merged_.find(result.id);
    const CellResult* known = merged != merged_.end() ? &merged->second
                              : local != here.end()   ? &local->second
                                                      : nullptr;
    ++(known == nullptr ? report.added : report.known);
    if (known != nullptr) {
      require(cell_id(known->kind, known->inputs) == cell_id(result.kind, result.inputs),
              "{}: the inputs of cell {} are not those known here", source.string(), result.id);
      if (const auto differs = difference(*known, result)) report.differences.push_back(*differs);
      if (known->finished <= result.finished) return;
    }
    merged_.insert_or_assign(result.id, result);
  };
  for (const auto& [source, results] : given) {
    for (const CellResult& result : results) take(result, source);
  }
  std::vector<CellResult> all;
  for (const auto& [id, result] : merged_) all.push_back(result);
  convseq::write_scores(path_ / kMerged, std::move(all));
  return report;
}

std::vector<CellResult> StudyFolder::results(const StudyPlan& plan) const {
  std::vector<CellResult> found;
  for (const Cell& cell : plan.cells()) {
    const CellResult* result = reported(cell.id());
    if (result == nullptr) continue;
    found.push_back(*result);
    // The names are those of the study file, which may have changed since the cell was computed.
    found.back().parts = cell.label.parts;
    found.back().model = cell.label.model;
    found.back().task = cell.label.task;
    found.back().corpus = cell.label.corpus;
    found.back().chosen = plan.is_chosen(cell);
  }
  return found;
}

// Without the failures of cells that are to be computed again, their groups would have no learning
// rate yet, and the runs at the one that was chosen would be missing.
void StudyFolder::write_scores(StudyPlan& plan) {
  refresh(plan, Retried::Failed);
  convseq::write_scores(path_ / kScores, results(plan));
  refresh(plan, Retried::Left);
}

}  // namespace convseq
