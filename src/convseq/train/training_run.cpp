#include "convseq/train/training_run.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "convseq/base/log.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"
#include "convseq/spec/flops.h"
#include "convseq/train/run/broadcast_state.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

double flops_of(const ModelConfig& config, const Batch& batch) {
  const Workload work{.source = batch.source_width,
                      .target = config.decoder_layers > 0 ? batch.target_width : 0};
  return static_cast<double>(batch.rows) *
         static_cast<double>(training_flops(total_flops(forward_flops(config, work))));
}

ScheduleOptions scheduled(const TrainingOptions& options) {
  ScheduleOptions schedule = options.schedule;
  if (schedule.total_steps == 0) schedule.total_steps = options.limits.steps;
  if (schedule.warmup_steps == kUsualWarmup) {
    schedule.warmup_steps =
        schedule.total_steps > 0 ? std::min<int64_t>(100, schedule.total_steps / 10) : 100;
  }
  return schedule;
}

bool is_due(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

// The progress of a run, in the unit of the limit that most likely ends it.
struct Distance {
  int64_t total = 0;
  std::string unit;
  int64_t done = 0;
};

Distance distance(const TrainingLimits& limits, const TrainingState& state) {
  if (limits.steps > 0) return {limits.steps, "steps", state.step};
  if (limits.source_tokens > 0) return {limits.source_tokens, "tokens", state.source_tokens};
  return {static_cast<int64_t>(60 * limits.minutes), "s", static_cast<int64_t>(state.seconds)};
}

}  // namespace

TrainingRun::TrainingRun(TrainingOptions options, std::shared_ptr<Seq2Seq> model,
                         ModelExtras extras, RunIdentity identity, Communicator& communicator)
    : options_(std::move(options)),
      model_(std::move(model)),
      extras_(std::move(extras)),
      communicator_(communicator),
      checkpoints_(options_.out, options_.keep, std::move(identity)),
      schedule_(scheduled(options_)) {
  const TrainingLimits& limits = options_.limits;
  require(limits.steps > 0 || limits.source_tokens > 0 || limits.minutes > 0,
          "the run has no end: limit its steps, tokens or minutes");
  if (writes() && !options_.dry_run && !options_.in_memory) {
    folder_.emplace(options_.out);
    folder_->check_room(model_->parameter_count(), options_.keep, checkpoints_.count());
  }
  model_->to(
      torch::promoteTypes(options_.compute, torch::kFloat32));  // the type of the master weights
  resume();
  model_->to(options_.device);
  weights_.emplace(*model_, options_.compute);
  optimizer_ = make_optimizer(options_.optimizer, weights_->learning());
  if (state_.step > 0) optimizer_->load_state(state_.optimizer, options_.out.string());
  state_.optimizer.clear();
  saved_step_ = state_.step;
  step_.emplace(*model_, *weights_, *optimizer_, communicator_, options_.step);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::resume() {
  if (options_.in_memory || !options_.resume) return;
  const std::string out = options_.out.string();
  require_newest_on_first(checkpoints_.newest_step(), communicator_, options_.device, out);
  std::optional<TrainingState> found;
  if (writes()) {
    found = checkpoints_.load_latest(model_->config());
    if (found) check_best(*found);
  }
  broadcast_state(found, communicator_, options_.device);
  if (!found) return;
  state_ = std::move(*found);
  copy_parameters(*model_, state_.weights, out);  // load_latest() has checked them
  state_.weights.clear();
  if (writes()) log::info("resuming from step {} of {}", state_.step, out);
}

// The user may have removed the best model. Its score goes with it, so that the next validation
// writes a new one.
void TrainingRun::check_best(TrainingState& found) const {
  if (!options_.keep_best || !found.best_validation || checkpoints_.has_best()) return;
  log::warning("{}: was removed; the next validation writes a new one",
               checkpoints_.best().string());
  found.best_validation.reset();
  const int64_t patience = options_.limits.patience;
  const bool has_ended = patience > 0 && found.validations_since_best >= patience;
  if (!has_ended) found.validations_since_best = 0;
}

// Two steps are not timed: in the first one libraries initialise themselves, or the step is
// captured.
TrainingSummary TrainingRun::rehearse(Lesson& lesson) {
  constexpr int kTimedSteps = 3;
  const int64_t first_step = state_.step;
  TrainingBatch batch = lesson.next();
  for (int i = -2; i < kTimedSteps; ++i) {
    if (i <= 0) meter_.emplace(options_.device, 1);
    start_step(batch);
    finish_step();
    if (agree(options_.stop())) return summary(TrainingEnd::Stopped);
    // A captured step is fast from its second time on, so there one batch stands for all.
    if (!step_->runs_ahead()) batch = lesson.next();
  }
  const Pace pace = meter_->whole();
  const double checkpoint = 12.0 * static_cast<double>(model_->parameter_count());
  return {.end = TrainingEnd::Planned,
          .plan = TrainingPlan{
              .parameters = model_->parameter_count(),
              .first_step = first_step,
              .steps =
                  options_.limits.steps > 0 ? options_.limits.steps : options_.schedule.total_steps,
              .source_tokens = static_cast<double>(pace.source_tokens) / kTimedSteps,
              .seconds_per_step = pace.seconds / kTimedSteps,
              .peak_memory_bytes = pace.peak_memory_bytes,
              .checkpoint_bytes = checkpoint * static_cast<double>(options_.keep + 1)}};
}

TrainingSummary TrainingRun::go(Lesson& lesson) {
  require(options_.limits.patience == 0 || lesson.can_validate(),
          "a patience of {} validations needs validation data", options_.limits.patience);
  if (options_.dry_run) return rehearse(lesson);
  open_records(lesson.name());
  std::optional<TrainingEnd> end = reached_limit();
  while (!end) end = advance(lesson);
  if (log_) log_->finish();
  return summary(*end);
}

// Removes what is left of earlier runs, writes options.json, opens the logs and starts the clock.
void TrainingRun::open_records(const std::string& name) {
  if (folder_ && state_.step == 0) checkpoints_.remove_all();
  if (folder_ && !options_.record.is_null()) {
    write_json_file(options_.out / "options.json", options_.record);
  }
  if (folder_) open_log(name);
  const double flops_ceiling =
      folder_ ? communicator_.size() * measure_matmul_flops(options_.device, options_.compute) : 1;
  seconds_before_ = saved_seconds_ = state_.seconds;
  meter_.emplace(options_.device, flops_ceiling);
}

// Finishes one step and does what is due after it: a log line, a validation, a checkpoint.
std::optional<TrainingEnd> TrainingRun::advance(Lesson& lesson) {
  while (step_->under_way() == 0 || may_start_another()) start_step(lesson.next());
  double rate = finish_step();
  std::optional<TrainingEnd> end = reached_limit();
  if (agree(options_.stop()) && !end) end = TrainingEnd::Stopped;
  const int64_t skipped = state_.skipped_in_a_row;
  const bool diverged = skipped >= options_.most_skipped_in_a_row;
  while (step_->under_way() > 0 && (end || diverged)) {
    report(rate, /*at_end=*/false);
    rate = finish_step();
  }
  if (end == TrainingEnd::Stopped) end = reached_limit().value_or(TrainingEnd::Stopped);
  const bool at_end = end && *end != TrainingEnd::Stopped;
  report(rate, at_end);
  if (lesson.can_validate() && (at_end || is_due(options_.validate_every, state_.step))) {
    validate(lesson);
    if (!end) end = reached_limit();
  }
  if (save_is_due() || end || diverged) save();
  require(!diverged,
          "{}: {} steps in a row had a loss or gradient that is not finite; stopped at step {}",
          options_.out.string(), skipped, state_.step);
  return end;
}

TrainingSummary TrainingRun::summary(TrainingEnd end) const {
  return {.end = end,
          .step = state_.step,
          .source_tokens = state_.source_tokens,
          .skipped_steps = state_.skipped_steps,
          .seconds = state_.seconds,
          .flops = state_.flops,
          .loss = state_.loss,
          .best_validation = state_.best_validation,
          .pace = meter_->whole(),
          .captures = step_->captures()};
}

void TrainingRun::open_log(const std::string& name) {
  const Distance start = distance(options_.limits, state_);
  log_.emplace(
      RunLogOptions{.folder = options_.out,
                    .progress = options_.progress,
                    .bar = {.label = name, .total = start.total, .unit = start.unit},
                    .resumed_step = state_.step > 0 ? std::optional(state_.step) : std::nullopt});
}

// Updates the progress bar after each step, and the log files every `log_every` steps and at the
// end.
void TrainingRun::report(double rate, bool at_end) {
  const bool to_files = at_end || is_due(options_.log_every, state_.step);
  if (to_files && writes()) options_.on_log(state_.step, last_.loss);
  if (log_) {
    const RunLog::Step step{.number = state_.step,
                            .learning_rate = rate,
                            .result = last_,
                            .source_tokens = state_.source_tokens,
                            .skipped_steps = state_.skipped_steps,
                            .pace = meter_->lately()};
    log_->show(distance(options_.limits, state_).done, step);
    if (to_files) in_safety([&] { log_->write(step); });
  }
  if (to_files) meter_->new_stretch();
}

void TrainingRun::start_step(TrainingBatch batch) {
  const int64_t number = state_.step + step_->under_way();
  // The random numbers of a step depend only on the seed, the step and the rank, so a resumed run
  // draws the same ones.
  Random random(options_.seed, {kDropout, static_cast<uint64_t>(number),
                                static_cast<uint64_t>(communicator_.rank())});
  torch::manual_seed(random.bits64());
  const double rate = schedule_.learning_rate(number);
  step_->start(cut_batch(batch.batch, options_.micro_batch_rows), rate);
  started_.push_back({.rate = rate,
                      .flops = flops_of(model_->config(), batch.batch),
                      .cursor = std::move(batch.after)});
}

double TrainingRun::finish_step() {
  last_ = step_->finish();
  Started started = std::move(started_.front());
  started_.pop_front();
  state_.cursor = std::move(started.cursor);
  state_.source_tokens += last_.source_tokens;
  state_.loss = last_.loss;
  ++state_.step;
  state_.skipped_in_a_row = last_.skipped ? state_.skipped_in_a_row + 1 : 0;
  state_.skipped_steps += last_.skipped ? 1 : 0;
  const double flops = started.flops * communicator_.size();
  state_.flops += flops;
  meter_->count(last_.source_tokens, flops);
  state_.seconds = seconds_before_ + meter_->whole().seconds;
  return started.rate;
}

// False if the newest step in flight may be the last, or if a validation or a checkpoint follows
// it.
bool TrainingRun::may_start_another() const {
  constexpr int64_t kMostUnderWay = 4;  // enough work for the device while the host writes logs
  if (step_->under_way() >= kMostUnderWay) return false;
  const int64_t step = state_.step + step_->under_way();
  const TrainingLimits& limits = options_.limits;
  const bool may_be_last = (limits.steps > 0 && step >= limits.steps) || limits.source_tokens > 0;
  return step_->runs_ahead() && !may_be_last && !is_due(options_.validate_every, step) &&
         !is_due(options_.save_every, step);
}

std::optional<TrainingEnd> TrainingRun::reached_limit() {
  const TrainingLimits& limits = options_.limits;
  if (limits.patience > 0 && state_.validations_since_best >= limits.patience)
    return TrainingEnd::Patience;
  if (limits.steps > 0 && state_.step >= limits.steps) return TrainingEnd::Steps;
  if (limits.source_tokens > 0 && state_.source_tokens >= limits.source_tokens)
    return TrainingEnd::Tokens;
  // Clocks differ between processes: the first process over the limit ends the run for all.
  if (limits.minutes > 0 && agree(state_.seconds >= 60 * limits.minutes))
    return TrainingEnd::Minutes;
  return std::nullopt;
}

bool TrainingRun::agree(bool wish) {
  if (communicator_.size() == 1) return wish;
  const auto wishes = torch::tensor({wish ? 1 : 0}, torch::kInt64).to(options_.device);
  communicator_.all_reduce_sum({wishes});
  return wishes.item<int64_t>() > 0;
}

void TrainingRun::validate(Lesson& lesson) {
  const Validation found = lesson.validate(*model_);
  const std::optional<double>& best = state_.best_validation;
  const bool improves =
      !best || (found.higher_is_better ? found.score > *best : found.score < *best);
  const bool better = std::isfinite(found.score) && improves;
  state_.validations_since_best = better ? 0 : state_.validations_since_best + 1;
  if (better) state_.best_validation = found.score;
  if (!writes()) return;
  options_.on_validation(state_.step, found.score);
  in_safety([&] {
    if (log_) log_->validation(state_.step, found.values);
    if (better && options_.keep_best) keep_best();
  });
}

void TrainingRun::keep_best() {
  if (!options_.in_memory) return checkpoints_.save_best(model_folder());
  const torch::NoGradGuard no_grad;
  for (const auto& [name, value] : weights_->values()) best_weights_[name] = value.clone();
}

void TrainingRun::load_best() {
  if (!options_.keep_best || !state_.best_validation) return;
  const fs::path file = checkpoints_.best() / kWeightsFile;
  if (!options_.in_memory && checkpoints_.has_best()) best_weights_ = load_tensors(file).tensors;
  if (!best_weights_.empty()) load_parameters(*model_, best_weights_, file.string());
}

bool TrainingRun::save_is_due() const {
  return is_due(options_.save_every, state_.step) &&
         state_.seconds - saved_seconds_ >= options_.save_seconds;
}

void TrainingRun::save() {
  if (!writes() || options_.in_memory || saved_step_ == state_.step) return;
  state_.optimizer = optimizer_->state();
  in_safety([&] { checkpoints_.save(state_, model_folder()); });
  state_.optimizer.clear();
  saved_step_ = state_.step;
  saved_seconds_ = state_.seconds;
}

void TrainingRun::in_safety(const std::function<void()>& write) const {
  try {
    write();
  } catch (const Error& error) {
    throw error.with(saved_step_ == 0 ? "there is no earlier checkpoint"
                                      : "the last good checkpoint is " +
                                            checkpoints_.path_of(saved_step_).string());
  }
}

ModelFolder TrainingRun::model_folder() const {
  return {.config = model_->config(), .weights = weights_->values(), .extras = extras_};
}

void TrainingRun::write_last() {
  if (folder_) {
    in_safety([&] { write_model_files(options_.out, model_folder()); });
  }
  communicator_.barrier();
}

void TrainingRun::write_best() {
  if (writes()) {
    ModelFolder best = model_folder();
    load_best();
    if (!best_weights_.empty()) best.weights = std::exchange(best_weights_, {});
    if (folder_) {
      in_safety([&] { write_model_files(options_.out, best); });
    }
  }
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model_->parameters()) {
    if (communicator_.size() > 1) communicator_.broadcast(parameter.detach(), 0);
  }
  communicator_.barrier();
}

}  // namespace convseq
