#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>

#include "convseq/study/cell.h"
#include "convseq/study/data_digests.h"

namespace convseq {

// The cells of a study. A learning rate is chosen on the validation split with the first seed, for
// each model, start and task; the cells of the other seeds are known only then.
class StudyPlan {
 public:
  // `data` overrides the data folder of the study file, if it is not empty.
  StudyPlan(Study study, const std::filesystem::path& data, DataDigests& digests);

  const Study& study() const { return study_; }
  const std::filesystem::path& data() const { return data_; }
  const std::deque<Cell>& cells() const { return cells_; }
  const Cell* find(const std::string& id) const;  // null: none
  // Adds to `ids` the cells that `cell` needs, and theirs, without those that `takes` refuses.
  using TakesId = std::function<bool(const std::string& id)>;
  void add_needs(const Cell& cell, const TakesId& takes, std::set<std::string>& ids) const;

  // Chooses learning rates where all results are there, and adds the cells of the other seeds.
  // `find_result` returns null where there is none, and a result with `failed` set for a failure.
  using FindResult = std::function<const CellResult*(const std::string& id)>;
  void choose(const FindResult& find_result);

  // The runs of one model, start and task in one part.
  struct Group {
    std::string part, model, task;
    Start start = Start::Scratch;
    std::vector<std::string> first_runs = {};  // one id per learning rate, with seed 1
    std::vector<std::string> more_runs = {};   // once the learning rate is chosen
    int64_t seeds = 1;
    std::optional<double> chosen = {};  // learning rate
    bool failed = false;                // no run with seed 1 succeeded
  };
  const std::vector<Group>& groups() const { return groups_; }
  bool is_chosen(const Cell& cell) const;

 private:
  void add_part(const StudyPart& part, int64_t number);
  void add_group(const StudyPart& part, Group group);
  // Chooses the learning rate, and adds the runs of the other seeds.
  void add_more_runs(const StudyPart& part, Group& group, double rate);
  std::string add(CellKind kind, Json inputs, Cell cell);
  std::string add_synth();
  std::string add_tokenizer();
  std::string add_corpus_shards(const std::string& corpus, bool validation);
  std::string add_task_shards(const StudyTask& task, const std::string& name,
                              const std::string& split);
  std::string add_pretrain(const StudyPart& part, const Group& group, int64_t seed);
  std::string add_finetune(const StudyPart& part, const Group& group, double rate, int64_t seed);
  Json describe_files(const std::vector<std::string>& patterns);
  Json describe_task(const StudyTask& task, const std::vector<std::string>& splits);
  std::vector<std::string> needs_of(const std::vector<std::string>& patterns);

  Study study_;
  std::filesystem::path data_;
  DataDigests& digests_;
  std::deque<Cell> cells_;  // a deque: references stay valid
  std::map<std::string, size_t> by_id_;
  std::vector<Group> groups_;
  std::map<std::string, Json> files_, tasks_;  // described already
  std::string part_;                           // being added
  int64_t part_number_ = 0;
};

// The task of a study with its overrides. `folder` holds the synthetic tasks.
Task find_study_task(const StudyTask& task, const std::filesystem::path& synth_tasks);

}  // namespace convseq
