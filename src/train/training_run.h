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

// The loop: from a model's first weights to a model folder at `out`, with checkpoints,
// metrics.jsonl and TensorBoard events beside it. Made again it goes on from the newest whole
// checkpoint, on a CPU bit for bit, with any number of processes. Only the first process reads and
// writes `out`; the others are told.
class TrainingRun {
 public:
  // `model` holds its first weights; the newest checkpoint, where there is one, takes their place.
  // Refuses what cannot work before any work.
  TrainingRun(const TrainingOptions& options, std::shared_ptr<Seq2Seq> model, ModelExtras extras,
              RunIdentity identity, Communicator& communicator);
  ~TrainingRun();

  const Json& cursor() const { return state_.cursor; }  // null: at the beginning
  TrainingSummary go(Lesson& lesson);
  // The model folder at `out`: with the weights as they are, or with those of the best validation,
  // which the model then has too.
  void write_last();
  void write_best();

 private:
  void resume();
  void check_best();
  TrainingSummary rehearse(Lesson& lesson);
  void open_log(const std::string& name);
  void report(double rate, const Pace& pace, bool to_files);
  void start_step(Lesson& lesson);
  double finish_step(PaceMeter& meter);  // the oldest; returns its learning rate
  bool may_start_another() const;        // while one is under way
  void validate(Lesson& lesson);
  std::optional<TrainingEnd> reached_limit();
  bool agree(bool wish);  // true where any process wishes it
  void save();
  // Where `write` fails, as on a full disk, the Error names the last good checkpoint too.
  void in_safety(const std::function<void()>& write) const;
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
  // What is known of the steps under way beside what the device will say.
  struct Started {
    double rate;
    double flops;
    Json cursor;  // behind its batch
  };
  std::deque<Started> started_;
  StepResult last_;
  int64_t saved_step_ = 0;
  bool best_is_gone_ = false;  // removed by hand since it was written
};

}  // namespace convseq
