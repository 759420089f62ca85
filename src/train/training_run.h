#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "text/tokenizer.h"
#include "train/memory_estimate.h"
#include "train/run_folder.h"
#include "train/run_log.h"
#include "train/schedule.h"
#include "train/train_step.h"
#include "train/training_checkpoint.h"

namespace convseq {

// When a run ends, whichever comes first; 0: no such limit.
struct TrainingLimits {
  int64_t steps = 0;
  int64_t source_tokens = 0;
  double minutes = 0;    // of training, over all its restarts
  int64_t patience = 0;  // validations in a row without a better one
};

inline constexpr int64_t kUsualWarmup = -1;  // a tenth of the steps, at most 100

// Every process computes as many rows as the others, so that none waits.
void check_batch(int64_t rows, int processes);

// What pre-training and fine-tuning have in common.
struct TrainingOptions {
  std::filesystem::path out;
  OptimizerOptions optimizer;
  ScheduleOptions schedule{
      .kind = ScheduleKind::Cosine, .learning_rate = 2e-2, .warmup_steps = kUsualWarmup};
  TrainStepOptions step;
  torch::Device device = torch::kCPU;
  torch::Dtype compute = torch::kFloat32;
  uint64_t seed = 1;
  TrainingLimits limits{.steps = 1000};
  int64_t micro_batch_rows = 0;  // rows computed at a time; 0: the whole batch
  int64_t log_every = 10;
  int64_t validate_every = 500;  // 0: at the end alone
  int64_t save_every = 500;
  int64_t keep = 2;
  bool keep_best = true;  // OUT/best, the model of the best validation
  int64_t most_skipped_in_a_row = 10;
  bool resume = true;
  bool progress = true;
  double max_memory_bytes = 0;  // a run that needs more is refused; 0: what is free
  bool dry_run = false;         // a few steps are timed, and nothing is written
  std::function<bool()> stop = [] { return false; };  // asked after each step: checkpoint and end
  Json record = nullptr;  // what the run was asked for: OUT/options.json
};

// What one step of one process computes, for an estimate of its memory; lengths are to be set.
TrainingShape training_shape(const TrainingOptions& options, int64_t rows);
// Refuses a run that would not fit, with the figure, before anything is allocated. Of a GPU's
// memory nothing is said.
void require_training_memory(const TrainingOptions& options, const ModelConfig& config,
                             const TrainingShape& shape);

// The part of a run's identity that all runs have: what decides the weights beside the data.
RunIdentity identity_of(const TrainingOptions& options);

struct TrainingBatch {
  Batch batch;  // this process's rows
  Json after;   // the cursor behind it
};

struct Validation {
  double score = 0;
  bool higher_is_better = true;
  std::vector<NamedValue> values;  // for the logs
};

// What a run learns from, and how it is judged. Every process has its own.
class Lesson {
 public:
  virtual ~Lesson() = default;
  virtual std::string name() const = 0;  // "pretrain"
  virtual TrainingBatch next() = 0;
  virtual bool can_validate() const = 0;
  virtual Validation validate(Seq2Seq& model) = 0;  // the same on every process
};

enum class TrainingEnd { Stopped, Planned, Steps, Tokens, Minutes, Patience };

// What a dry run found out.
struct TrainingPlan {
  int64_t parameters = 0;
  int64_t first_step = 0;         // where it would go on
  int64_t steps = 0;              // in all; 0: another limit decides
  double source_tokens = 0;       // per step
  double seconds_per_step = 0;    // measured; validations and checkpoints come on top
  int64_t peak_memory_bytes = 0;  // measured
  double checkpoint_bytes = 0;    // of all that are kept, and the next while it is written

  Json to_json() const;
  std::string describe() const;
};

struct TrainingSummary {
  TrainingEnd end = TrainingEnd::Stopped;
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  double seconds = 0;
  double loss = 0;  // of the last step
  std::optional<double> best_validation;
  Pace pace;                              // of this process's part of the run
  std::optional<TrainingPlan> plan = {};  // of a dry run

  // Otherwise it was stopped before its end, and the same call goes on; or it never began.
  bool finished() const { return end > TrainingEnd::Planned; }
  Json to_json() const;
};

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

  const TrainingOptions& options_;
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
