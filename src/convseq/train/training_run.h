#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "convseq/train/lesson.h"
#include "convseq/train/run/run_folder.h"
#include "convseq/train/run/run_log.h"
#include "convseq/train/run/training_checkpoint.h"
#include "convseq/train/training_options.h"
#include "convseq/train/training_summary.h"

namespace convseq {

// The training loop: from initial weights to a model folder at `out`, with checkpoints,
// metrics.jsonl and TensorBoard events. A new TrainingRun on the same folder resumes from the
// newest valid checkpoint (bit for bit on a CPU) with any number of processes. Only the first
// process reads checkpoints and writes to `out`; it broadcasts what the others need.
class TrainingRun {
 public:
  // `model` holds the initial weights, which the newest checkpoint replaces if there is one. Throws
  // an Error for options that cannot work.
  TrainingRun(TrainingOptions options, std::shared_ptr<Seq2Seq> model, ModelExtras extras,
              RunIdentity identity, Communicator& communicator);
  ~TrainingRun();

  const Json& cursor() const { return state_.cursor; }  // null: at the beginning of the data
  bool captures_steps() const { return step_->runs_ahead(); }
  TrainingSummary go(Lesson& lesson);
  // Write the model folder at `out` (unless `in_memory` is set) with the current weights, or with
  // those of the best validation, which are also loaded into the model.
  void write_last();
  void write_best();

 private:
  void resume();
  void check_best(TrainingState& found) const;
  TrainingSummary rehearse(Lesson& lesson);
  void open_records(const std::string& name);
  void open_log(const std::string& name);
  std::optional<TrainingEnd> advance(Lesson& lesson);  // the reason to end, if any
  void start_step(TrainingBatch batch);
  double finish_step();            // the oldest in flight; returns its learning rate
  bool may_start_another() const;  // while others are in flight
  void report(double rate, bool at_end);
  void validate(Lesson& lesson);
  TrainingSummary summary(TrainingEnd end) const;
  std::optional<TrainingEnd> reached_limit();
  bool agree(bool wish);  // true if any process passes true
  bool save_is_due() const;
  void save();
  // Calls write(). If it fails, as on a full disk, the Error also names the last good checkpoint.
  void in_safety(const std::function<void()>& write) const;
  void keep_best();
  void load_best();  // into the model
  ModelFolder model_folder() const;
  bool writes() const { return communicator_.rank() == 0; }

  const TrainingOptions options_;
  std::shared_ptr<Seq2Seq> model_;
  ModelExtras extras_;
  Communicator& communicator_;
  std::optional<RunFolder> folder_;
  Checkpoints checkpoints_;
  Schedule schedule_;
  TrainingState state_;
  std::optional<MasterWeights> weights_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<TrainStep> step_;
  std::optional<RunLog> log_;
  std::optional<PaceMeter> meter_;
  double seconds_before_ = 0;  // of training before this run resumed
  // What the host knows about a step in flight.
  struct Started {
    double rate;
    double flops;
    Json cursor;  // after its batch
  };
  std::deque<Started> started_;
  StepResult last_;
  int64_t saved_step_ = 0;
  double saved_seconds_ = 0;  // state_.seconds at the last checkpoint
  TensorMap best_weights_;    // of a run in memory
};

}  // namespace convseq
