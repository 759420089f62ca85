#pragma once

#include <optional>

#include "convseq/base/file/json_file.h"
#include "convseq/data/batch.h"
#include "convseq/data/batch_plan.h"
#include "convseq/data/rank_rows.h"

namespace convseq {

struct ExampleStreamOptions {
  BatchPlanOptions plan = {};
  Rank rank = {};
};

// The position of a stream of examples: before batch `batch` of epoch `epoch`.
struct ExampleCursor {
  // Version 1, which is not written down, plans batches unkeyed. A run resumes by the rules it
  // started with.
  static constexpr int64_t kVersion = 2;

  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t version = kVersion;

  Json to_json() const;
  static ExampleCursor from_json(const JsonObject& json);
  bool operator==(const ExampleCursor&) const = default;
};

struct ExampleBatch {
  Batch batch;                    // this rank's rows of the global batch; may be empty
  std::vector<int64_t> examples;  // their numbers
  ExampleCursor after;            // the position after this batch
};

// An endless stream of fine-tuning batches, with a new plan for each epoch. Global batch n is a
// function of (examples, plan, cursor), independent of the number of ranks.
class ExampleStream {
 public:
  ExampleStream(std::vector<Example> examples, const ExampleStreamOptions& options,
                ExampleCursor start = {});

  ExampleBatch next();

  // Of the current epoch, or of the next one where none has begun.
  int64_t batches() const { return std::ssize(plan_->batches()); }
  // Of this rank's batches of the first epoch, whatever the position.
  std::vector<BatchShape> first_shapes() const;

 private:
  void plan_epoch();

  std::vector<Example> examples_;
  std::vector<ExampleLengths> lengths_;
  ExampleStreamOptions options_;
  ExampleCursor cursor_;
  std::optional<BatchPlan> plan_;
};

}  // namespace convseq
