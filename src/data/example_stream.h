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

// Where a stream of examples stands: before batch `batch` of epoch `epoch`.
struct ExampleCursor {
  // 1, which a cursor has that names none: batches are planned unkeyed. A run goes on by the rules
  // it began with.
  static constexpr int64_t kVersion = 2;

  int64_t epoch = 0;
  int64_t batch = 0;
  int64_t version = kVersion;

  Json to_json() const;
  static ExampleCursor from_json(const JsonObject& json);
  bool operator==(const ExampleCursor&) const = default;
};

struct ExampleBatch {
  Batch batch;                    // this rank's rows of the global batch; may be none
  std::vector<int64_t> examples;  // their numbers
  ExampleCursor after;            // to go on behind it
};

// Fine-tuning batches without end, epoch after epoch, each planned anew. What global batch n holds
// is a function of (examples, plan, cursor), whatever the ranks.
class ExampleStream {
 public:
  ExampleStream(std::vector<Example> examples, const ExampleStreamOptions& options,
                ExampleCursor start = {});

  ExampleBatch next();

  // Of the epoch that comes next or is under way:
  int64_t batches() const { return std::ssize(plan_->batches()); }
  double padding_share() const { return plan_->padding_share(); }

 private:
  void plan_epoch();

  std::vector<Example> examples_;
  std::vector<ExampleLengths> lengths_;
  ExampleStreamOptions options_;
  ExampleCursor cursor_;
  std::optional<BatchPlan> plan_;
};

}  // namespace convseq
