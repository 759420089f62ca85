#include "train/pretrain.h"

#include <torch/torch.h>

#include <chrono>

#include "base/log.h"
#include "base/metrics_log.h"
#include "base/progress.h"
#include "base/tensorboard.h"
#include "data/document_reader.h"
#include "data/shard_manifest.h"
#include "train/training_checkpoint.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// A batch cut into micro-batches of at most `rows` rows.
std::vector<Batch> cut(const Batch& batch, int64_t rows) {
  if (rows <= 0 || rows >= batch.rows) return {batch};
  std::vector<Batch> parts;
  const auto slice = [](const std::vector<int64_t>& all, int64_t begin, int64_t end) {
    return std::vector<int64_t>(all.begin() + begin, all.begin() + end);
  };
  for (int64_t begin = 0; begin < batch.rows; begin += rows) {
    const int64_t end = std::min(begin + rows, batch.rows);
    const int64_t s = batch.source_width, t = batch.target_width;
    parts.push_back({.rows = end - begin,
                     .source_width = s,
                     .target_width = t,
                     .source = slice(batch.source, begin * s, end * s),
                     .source_lengths = slice(batch.source_lengths, begin, end),
                     .target = slice(batch.target, begin * t, end * t),
                     .target_lengths = slice(batch.target_lengths, begin, end)});
  }
  return parts;
}

void check(const PretrainOptions& options, const Tokenizer& tokenizer) {
  require(options.model.vocab_size == tokenizer.vocabulary().size(),
          "{}: the tokenizer has {} ids, the model's vocab_size is {}; set vocab_size={}",
          options.tokenizer.string(), tokenizer.vocabulary().size(), options.model.vocab_size,
          tokenizer.vocabulary().size());
  require(options.steps > 0, "steps is {}; must be more than 0", options.steps);
  for (const CorpusShare& share : options.corpus.corpora) {
    if (!ShardManifest::is_in(share.corpus))
      expand_corpus(share.corpus);  // throws where nothing is
  }
  std::error_code error;
  fs::create_directories(options.out, error);
  require(fs::is_directory(options.out), "{}: cannot create: {}", options.out.string(),
          error.message());
}

class Run {
 public:
  explicit Run(const PretrainOptions& options)
      : options_(options),
        tokenizer_(Tokenizer::load(options.tokenizer)),
        objective_(std::make_shared<SpanCorruption>(tokenizer_.vocabulary(), options.objective)),
        checkpoints_(options.out, options.keep),
        schedule_(scheduled(options)),
        model_(options.model) {
    check(options_, tokenizer_);
    torch::manual_seed(options_.seed);
    model_.initialise(options_.seed);
    if (options_.resume) resume();
    model_.to(options_.device);
    weights_.emplace(model_, options_.compute);
    optimizer_ = make_optimizer(options_.optimizer, weights_->values());
    if (state_.step > 0) optimizer_->load_state(state_.optimizer, options_.out.string());
    state_.optimizer.clear();
    if (!options_.validation_corpus.empty()) draw_validation();
  }

  PretrainSummary go() {
    const std::optional<int64_t> resumed =
        state_.step > 0 ? std::optional(state_.step) : std::nullopt;
    MetricsLog metrics(options_.out / "metrics.jsonl", resumed);
    TensorBoard board(options_.out / "runs", {.resumed_step = resumed});
    CorpusStreamOptions corpus = options_.corpus;
    corpus.seed = options_.seed;
    CorpusStream stream(tokenizer_, objective_, corpus, state_.cursor);
    TrainStep step(model_, *weights_, *optimizer_, options_.step);
    std::optional<Progress> progress;
    if (options_.progress) {
      progress.emplace(
          ProgressOptions{.label = "pretrain", .total = options_.steps, .unit = "steps"});
    }
    int64_t skipped_in_a_row = 0;
    auto last_log = std::chrono::steady_clock::now();
    int64_t logged_tokens = state_.source_tokens;
    bool stopped = false;
    while (state_.step < options_.steps && !stopped) {
      const StreamBatch batch = stream.next();
      const double rate = schedule_.learning_rate(state_.step);
      last_ = step.run(cut(batch.batch, options_.micro_batch_rows), rate);
      state_.cursor = batch.after;
      state_.source_tokens += last_.source_tokens;
      ++state_.step;
      skipped_in_a_row = last_.skipped ? skipped_in_a_row + 1 : 0;
      state_.skipped_steps += last_.skipped ? 1 : 0;
      const bool at_end = state_.step == options_.steps;
      if (state_.step % options_.log_every == 0 || at_end) {
        const auto now = std::chrono::steady_clock::now();
        const double seconds = std::chrono::duration<double>(now - last_log).count();
        const double speed =
            static_cast<double>(state_.source_tokens - logged_tokens) / std::max(seconds, 1e-9);
        write_metrics(metrics, board, rate, speed);
        last_log = now;
        logged_tokens = state_.source_tokens;
      }
      if (progress)
        progress->update(state_.step, fmt::format("loss {:.3f}  lr {:.2e}", last_.loss, rate));
      const bool too_many = skipped_in_a_row >= options_.most_skipped_in_a_row;
      if (!validation_.empty() && (state_.step % options_.validate_every == 0 || at_end))
        validate(metrics, board);
      stopped = options_.stop() || too_many;
      if (state_.step % options_.save_every == 0 || at_end || stopped) save();
      require(!too_many,
              "{}: {} steps in a row had a loss or gradient that is not finite; stopped at step {}",
              options_.out.string(), skipped_in_a_row, state_.step);
    }
    if (progress) progress->finish();
    if (state_.step == options_.steps) write_model_files(options_.out, model_folder());
    return {.step = state_.step,
            .source_tokens = state_.source_tokens,
            .skipped_steps = state_.skipped_steps,
            .loss = last_.loss,
            .best_validation = state_.best_validation,
            .finished = state_.step == options_.steps};
  }

 private:
  static ScheduleOptions scheduled(const PretrainOptions& options) {
    ScheduleOptions schedule = options.schedule;
    if (schedule.total_steps == 0) schedule.total_steps = options.steps;
    return schedule;
  }

  void resume() {
    if (auto found = checkpoints_.load_latest(options_.model)) {
      state_ = std::move(*found);
      load_parameters(model_, state_.weights, options_.out.string());
      state_.weights.clear();
      log::info("going on from step {} of {}", state_.step, options_.out.string());
    }
  }

  void draw_validation() {
    CorpusStreamOptions corpus = options_.corpus;
    corpus.corpora = {{.corpus = options_.validation_corpus}};
    corpus.rank = {};
    CorpusStream stream(tokenizer_, objective_, corpus);
    for (int64_t i = 0; i < options_.validation_batches; ++i)
      validation_.push_back(stream.next().batch);
  }

  void validate(MetricsLog& metrics, TensorBoard& board) {
    const StepResult result = evaluate_loss(model_, validation_);
    metrics.write(state_.step,
                  {{"validation_nll", result.nll}, {"validation_accuracy", result.accuracy}});
    board.scalars(state_.step, std::vector<Scalar>{{"validation/nll", result.nll},
                                                   {"validation/accuracy", result.accuracy}});
    if (!state_.best_validation || result.nll < *state_.best_validation)
      state_.best_validation = result.nll;
  }

  void write_metrics(MetricsLog& metrics, TensorBoard& board, double rate,
                     double tokens_per_second) {
    metrics.write(state_.step, {{"loss", last_.loss},
                                {"nll", last_.nll},
                                {"accuracy", last_.accuracy},
                                {"learning_rate", rate},
                                {"gradient_norm", last_.gradient_norm},
                                {"source_tokens", state_.source_tokens},
                                {"source_tokens_per_second", tokens_per_second},
                                {"skipped_steps", state_.skipped_steps}});
    board.scalars(state_.step,
                  std::vector<Scalar>{{"train/loss", last_.loss},
                                      {"train/accuracy", last_.accuracy},
                                      {"train/learning_rate", rate},
                                      {"train/gradient_norm", last_.gradient_norm},
                                      {"train/source_tokens_per_second", tokens_per_second}});
  }

  ModelFolder model_folder() const {
    return {.config = options_.model,
            .weights = weights_->values(),
            .tokenizer_from = options_.tokenizer};
  }

  void save() {
    state_.optimizer = optimizer_->state();
    checkpoints_.save(state_, model_folder());
    state_.optimizer.clear();
  }

  const PretrainOptions& options_;
  Tokenizer tokenizer_;
  std::shared_ptr<const Objective> objective_;
  Checkpoints checkpoints_;
  Schedule schedule_;
  Seq2Seq model_;
  std::optional<MasterWeights> weights_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<Batch> validation_;
  TrainingState state_;
  StepResult last_;
};

}  // namespace

PretrainSummary pretrain(const PretrainOptions& options) { return Run(options).go(); }

}  // namespace convseq
