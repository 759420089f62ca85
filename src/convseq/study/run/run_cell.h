#pragma once

#include <functional>
#include <map>
#include <optional>

#include "convseq/study/plan.h"
#include "convseq/study/run/study_folder.h"

namespace convseq {

struct RunCellOptions {
  torch::Device device = torch::kCPU;
  std::string commit = {};                            // of the program, for the record
  size_t threads = 1;                                 // for tokenizing
  bool keep_models = false;                           // also those of fine-tuning
  std::function<bool()> stop = [] { return false; };  // polled
};

// Computes cells of a study, one at a time. What cells share stays in memory between them: the
// tokenized splits of tasks, and what the GPU has loaded.
class CellRunner {
 public:
  CellRunner(const StudyPlan& plan, const StudyFolder& folder, RunCellOptions options);

  // Nothing if it was stopped. Writes what the cell makes to `out`, the cell's folder; what an
  // earlier attempt left there is continued or replaced.
  std::optional<CellResult> run(const Cell& cell, const std::filesystem::path& out);

  // False after an error of a kernel that makes every later call of this process to the GPU fail.
  bool device_is_usable() const;

 private:
  bool run(const SynthWork& work, const std::filesystem::path& out, CellResult& result);
  bool run(const TokenizerWork& work, const std::filesystem::path& out, CellResult& result);
  bool run(const ShardsWork& work, const std::filesystem::path& out, CellResult& result);
  bool run(const PretrainWork& work, const std::filesystem::path& out, CellResult& result);
  bool run(const FinetuneWork& work, const std::filesystem::path& out, CellResult& result);

  std::filesystem::path tokenizer_of(const std::string& id) const;
  std::vector<std::filesystem::path> files_of(const std::vector<std::string>& patterns) const;
  std::filesystem::path synth_folder() const;
  ModelConfig with_vocabulary(ModelConfig config, const std::string& tokenizer) const;
  void set_common(TrainingOptions& options, StudyPrecision precision, CellResult& result) const;
  TaskSplit read(const std::string& task_key, const Task& task, const std::string& split,
                 const Tokenizer& tokenizer, const TaskSplitOptions& options);

  const StudyPlan& plan_;
  const StudyFolder& folder_;
  const RunCellOptions options_;
  std::map<std::string, TaskSplit> splits_;  // tokenized before
};

}  // namespace convseq
