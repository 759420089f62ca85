#pragma once

#include <map>
#include <string>

#include "convseq/study/plan.h"
#include "convseq/study/run/study_folder.h"

namespace convseq {

struct CellCost {
  double seconds = 0;  // 0: not known
  double tokens = 0;   // of pre-training
  double steps = 0;    // of fine-tuning
  double bytes = 0;    // of disk
};

// Estimates from the results that are there, and from the speeds in the study file where there are
// none.
class CostModel {
 public:
  CostModel(const StudyPlan& plan, const StudyFolder& folder);
  CellCost of(const Cell& cell);

 private:
  struct Mean {
    double sum = 0;
    int64_t count = 0;
    void add(double value) { sum += value, ++count; }
  };
  double first_known(const std::vector<std::string>& keys) const;  // 0: none is known
  double pretraining_tokens(const PretrainWork& work) const;
  double finetuning_steps(const FinetuneWork& work);
  int64_t training_rows(const StudyTask& task);

  const StudyPlan& plan_;
  const StudyFolder& folder_;
  int32_t vocab_size_;
  std::map<std::string, Mean> means_;  // by kind, model, task
  std::map<std::string, int64_t> rows_;
};

}  // namespace convseq
