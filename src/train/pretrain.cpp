#include "convseq/train/pretrain.h"

#include <torch/types.h>

#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/corpus/shard/shard_manifest.h"

namespace convseq {
namespace {

void check(const PretrainOptions& options, const Tokenizer& tokenizer, int processes) {
  require(options.model.vocab_size == tokenizer.vocabulary().size(),
          "{}: the tokenizer has {} ids, the model's vocab_size is {}; set vocab_size={}",
          options.tokenizer.string(), tokenizer.vocabulary().size(), options.model.vocab_size,
          tokenizer.vocabulary().size());
  check_batch(options.corpus.batch_rows, processes);
  std::vector<std::string> corpora;
  for (const CorpusShare& share : options.corpus.corpora) corpora.push_back(share.corpus);
  if (!options.validation_corpus.empty()) corpora.push_back(options.validation_corpus);
  for (const std::string& corpus : corpora) {
    if (ShardManifest::is_in(corpus)) continue;
    // Refuses what is not there, and files of another form, before a folder is made.
    DocumentReader reader(expand_corpus(corpus, HeldOutFiles::Take));
  }
}

ExampleLengths example_lengths(const PretrainOptions& options, const Tokenizer& tokenizer) {
  const SpanCorruption objective(tokenizer.vocabulary(), options.objective);
  return objective.lengths(objective.segment_length(options.corpus.room));
}

// Every batch is full: a limit of tokens is one of steps too, towards which the rate can run.
PretrainOptions with_schedule(PretrainOptions options, const ExampleLengths& lengths) {
  int64_t& total = options.schedule.total_steps;
  if (total == 0 && options.limits.steps == 0) {
    const int64_t per_batch = options.corpus.batch_rows * lengths.source;
    total = (options.limits.source_tokens + per_batch - 1) / per_batch;
  }
  return options;
}

RunIdentity identity_of(const PretrainOptions& options, const Tokenizer& tokenizer) {
  RunIdentity identity = convseq::identity_of(static_cast<const TrainingOptions&>(options));
  const RunIdentity more = {
      {"tokenizer", fmt::format("{:08x}", tokenizer.fingerprint())},
      {"batch", std::to_string(options.corpus.batch_rows)},
      {"source length", std::to_string(options.corpus.room.source)},
      {"target length", std::to_string(options.corpus.room.target)},
      {"noise density", fmt::format("{}", options.objective.noise_density)},
      {"mean span length", fmt::format("{}", options.objective.mean_span_length)}};
  identity.insert(identity.end(), more.begin(), more.end());
  return identity;
}

class Denoising : public Lesson {
 public:
  Denoising(const PretrainOptions& options, const Tokenizer& tokenizer, const Json& cursor,
            Communicator& communicator)
      : options_(options),
        tokenizer_(tokenizer),
        communicator_(communicator),
        objective_(std::make_shared<SpanCorruption>(tokenizer.vocabulary(), options.objective)),
        stream_(tokenizer, objective_, corpus_options(),
                cursor.is_null() ? StreamCursor{} : StreamCursor::from_json({cursor, "cursor"})) {
    if (can_validate()) draw_validation();
  }

  std::string name() const override { return "pretrain"; }

  TrainingBatch next() override {
    StreamBatch batch = stream_.next();
    return {std::move(batch.batch), batch.after.to_json()};
  }

  bool can_validate() const override { return !options_.validation_corpus.empty(); }

  Validation validate(Seq2Seq& model) override {
    const StepResult result = evaluate_loss(model, validation_, communicator_);
    return {.score = result.nll,
            .higher_is_better = false,
            .values = {{"nll", result.nll}, {"accuracy", result.accuracy}}};
  }

 private:
  CorpusStreamOptions corpus_options() const {
    CorpusStreamOptions corpus = options_.corpus;
    corpus.seed = options_.seed;
    corpus.rank = {.index = communicator_.rank(), .count = communicator_.size()};
    return corpus;
  }

  void draw_validation() {
    CorpusStreamOptions corpus = corpus_options();
    corpus.corpora = {{.corpus = options_.validation_corpus}};
    CorpusStream stream(tokenizer_, objective_, corpus);
    for (int64_t i = 0; i < options_.validation_batches; ++i)
      validation_.push_back(stream.next().batch);
  }

  const PretrainOptions& options_;
  const Tokenizer& tokenizer_;
  Communicator& communicator_;
  std::shared_ptr<const Objective> objective_;
  CorpusStream stream_;
  std::vector<Batch> validation_;
};

}  // namespace

TrainingSummary pretrain(const PretrainOptions& given, Communicator& communicator) {
  const Tokenizer tokenizer = Tokenizer::load(given.tokenizer);
  check(given, tokenizer, communicator.size());
  const ExampleLengths lengths = example_lengths(given, tokenizer);
  const PretrainOptions options = with_schedule(given, lengths);
  TrainingShape shape = training_shape(options, options.corpus.batch_rows / communicator.size());
  shape.source = lengths.source;
  shape.target = lengths.target;
  require_training_memory(options, options.model, shape);
  auto model = std::make_shared<Seq2Seq>(options.model);
  model->initialise(options.seed);
  TrainingRun run(options, model, {.tokenizer_from = options.tokenizer},
                  identity_of(options, tokenizer), communicator);
  Denoising lesson(options, tokenizer, run.cursor(), communicator);
  const TrainingSummary summary = run.go(lesson);
  if (summary.finished()) run.write_last();
  return summary;
}

TrainingSummary pretrain(const PretrainOptions& options) {
  const auto alone = make_single_communicator();
  return pretrain(options, *alone);
}

}  // namespace convseq
