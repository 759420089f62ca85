#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "convseq/study/plan.h"
#include "convseq/study/result.h"

namespace convseq {

struct MergeReport {
  int64_t added = 0, known = 0;
  std::vector<std::string> differences = {};  // one line each
};

// The folder of a study, which several processes share:
//   cells/ID/result.json   a finished cell; beside it what it made (model/, shards/, …)
//   cells/ID/failed.json   a failed one
//   cells/ID/retried.json  the failure of one that is to be computed again
//   cells/ID/deaths        how many of its workers were killed
//   cells/ID/lock          locked while it is computed
//   merged.jsonl           results of other machines, whose files are not here
//   scores.jsonl           all results of the study, one per line
//   digests.json           of the data files
class StudyFolder {
 public:
  // Refuses a folder with scores but without the cells that they are written from.
  explicit StudyFolder(std::filesystem::path path, bool create = true);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path cell(const std::string& id) const { return path_ / "cells" / id; }
  std::filesystem::path lock_file(const std::string& id) const { return cell(id) / "lock"; }

  // Reads the results that have come since the last call, of the cells of the plan, and lets the
  // plan choose learning rates by them.
  void refresh(StudyPlan& plan);
  const CellResult* result(const std::string& id) const;    // also of a failed cell; null: none
  const CellResult* reported(const std::string& id) const;  // of two results the older
  bool is_done(const std::string& id) const;
  const CellResult* failure(const std::string& id) const;  // of a cell that failed here; null: none
  bool has_failed(const std::string& id) const { return failure(id) != nullptr; }
  bool has_files(const std::string& id) const;  // made in this folder, and for others to read
  // Whether the cell has finished or failed in this folder, maybe since the last refresh().
  bool is_settled(const std::string& id) const;

  void store(const CellResult& result);  // result.json or, if it failed, failed.json
  // Lets a failed cell be computed again. Until that is done, its failure stays in the scores.
  void retry(const std::string& id);

  // Takes in the results of other folders or scores.jsonl files. Of two results of a cell the older
  // is kept. Different inputs for the same id are an Error. Waits for a merge of another process.
  MergeReport merge(const std::vector<std::filesystem::path>& sources);
  const std::map<std::string, CellResult>& merged() const { return merged_; }

  // The results of the plan's cells, with the parts and choices of the plan.
  std::vector<CellResult> results(const StudyPlan& plan) const;
  // No cells may be computed by the plan afterwards: it may have chosen learning rates without the
  // cells that are to be computed again.
  void write_scores(StudyPlan& plan);

 private:
  enum class Retried { Left, Failed };  // what a cell counts as that is to be computed again

  static std::vector<CellResult> results_in(const std::filesystem::path& source);
  std::map<std::string, CellResult> local_results() const;
  void refresh(StudyPlan& plan, Retried retried);
  void read_results(const StudyPlan& plan, Retried retried);
  void read_merged();  // if another process has merged results since the last time

  std::filesystem::path path_;
  std::map<std::string, CellResult> results_;  // finished or failed here
  std::map<std::string, CellResult> merged_;
  std::filesystem::file_time_type merged_time_;
};

}  // namespace convseq
