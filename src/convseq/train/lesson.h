#pragma once

#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/batch.h"
#include "convseq/model/seq2seq.h"
#include "convseq/train/run/run_log.h"

namespace convseq {

struct TrainingBatch {
  Batch batch;  // this process's rows
  Json after;   // the data cursor after this batch
};

struct Validation {
  double score = 0;
  bool higher_is_better = true;
  std::vector<NamedValue> values;  // for the logs
};

// The data of a training run and its validation. Each process has its own instance.
class Lesson {
 public:
  virtual ~Lesson() = default;
  virtual std::string name() const = 0;  // "pretrain"
  virtual TrainingBatch next() = 0;
  virtual bool can_validate() const = 0;
  virtual Validation validate(Seq2Seq& model) = 0;  // the same result on every process
};

}  // namespace convseq
