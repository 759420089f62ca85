#include "convseq/train/pretrain.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "convseq/base/counted.h"
#include "convseq/base/log.h"
#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/corpus/shard/shard_manifest.h"
#include "convseq/spec/vocabulary_check.h"

namespace convseq {
namespace {

void check_vocabulary(const PretrainOptions& options, const Vocabulary& vocabulary,
                      const Objective& objective) {
  if (!objective.uses_sentinels()) {
    convseq::check_vocabulary(options.model, vocabulary, options.tokenizer.string());
    return;
  }
  require(options.model.vocab_size == vocabulary.size(),
          "{}: the tokenizer has {} ids, the model's vocab_size is {}; set vocab_size={}",
          options.tokenizer.string(), vocabulary.size(), options.model.vocab_size,
          vocabulary.size());
}

void check(const PretrainOptions& options, int processes) {
  require(options.model.decoder_layers > 0 && options.model.classes == 0,
          "the model has a classification head; pre-training wants one with a decoder and without "
          "a head");
  check_batch(options.corpus.batch_rows, processes);
  Checkpoints(options.out, options.keep).refuse_input(options.tokenizer);
  std::vector<std::string> corpora;
  for (const CorpusShare& share : options.corpus.corpora) corpora.push_back(share.corpus);
  if (!options.validation_corpus.empty()) corpora.push_back(options.validation_corpus);
  for (const std::string& corpus : corpora) {
    if (ShardManifest::is_in(corpus)) continue;
    // Throws an Error for missing files and unknown formats before a folder is created.
    DocumentReader reader(expand_corpus(corpus, HeldOutFiles::Take));
  }
}

// Every batch is full, so a token limit gives the number of steps (its expectation if sources vary
// in length) over which the learning rate decays.
PretrainOptions with_schedule(PretrainOptions options, double mean_source_length) {
  int64_t& total = options.schedule.total_steps;
  if (total == 0 && options.limits.steps == 0) {
    const auto per_batch = static_cast<int64_t>(
        std::llround(static_cast<double>(options.corpus.batch_rows) * mean_source_length));
    total = (options.limits.source_tokens + per_batch - 1) / per_batch;
  }
  return options;
}

CorpusStreamOptions corpus_options(const PretrainOptions& options,
                                   const Communicator& communicator) {
  CorpusStreamOptions corpus = options.corpus;
  corpus.seed = options.seed;
  corpus.rank = {.index = communicator.rank(), .count = communicator.size()};
  return corpus;
}

struct ValidationData {
  std::vector<Batch> batches;  // empty: none
  std::string identity;
};

ValidationData draw_validation(const PretrainOptions& options, const Tokenizer& tokenizer,
                               const std::shared_ptr<const Objective>& objective,
                               const Communicator& communicator) {
  if (options.validation_corpus.empty()) return {};
  CorpusStreamOptions corpus = corpus_options(options, communicator);
  corpus.corpora = {{.corpus = options.validation_corpus}};
  CorpusStream stream(tokenizer, objective, corpus);
  ValidationData data;
  for (int64_t i = 0; i < options.validation_batches; ++i) {
    StreamBatch batch = stream.next();
    data.identity = fmt::format("{:08x}, {}", batch.after.fingerprint, counted(i + 1, "batch"));
    data.batches.push_back(std::move(batch.batch));
  }
  return data;
}

RunIdentity identity_of(const PretrainOptions& options, const Tokenizer& tokenizer,
                        const Objective& objective, const ValidationData& validation) {
  RunIdentity identity = convseq::identity_of(static_cast<const TrainingOptions&>(options));
  const RunIdentity more = {{"tokenizer", fmt::format("{:08x}", tokenizer.fingerprint())},
                            {"batch", std::to_string(options.corpus.batch_rows)},
                            {"source length", std::to_string(options.corpus.room.source)},
                            {"target length", std::to_string(options.corpus.room.target)},
                            {.name = "objective",
                             .value = std::string(name_of(objective.kind())),
                             .when_missing = std::string(name_of(ObjectiveKind::SpanCorruption))}};
  identity.insert(identity.end(), more.begin(), more.end());
  for (const auto& [option, value] : objective.numbers()) {
    identity.push_back({std::string(option.meaning), fmt::format("{}", value)});
  }
  if (!validation.batches.empty()) identity.push_back({"validation data", validation.identity});
  return identity;
}

class CorpusLesson : public Lesson {
 public:
  CorpusLesson(const PretrainOptions& options, const Tokenizer& tokenizer,
               const std::shared_ptr<const Objective>& objective,
               const std::vector<Batch>& validation, const Json& cursor, Communicator& communicator)
      : validation_(validation),
        communicator_(communicator),
        stream_(tokenizer, objective, corpus_options(options, communicator),
                cursor.is_null() ? StreamCursor{} : StreamCursor::from_json({cursor, "cursor"})) {
    log::info("{}", objective->describe(stream_.segment_length()));
  }

  std::string name() const override { return "pretrain"; }

  TrainingBatch next() override {
    StreamBatch batch = stream_.next();
    return {std::move(batch.batch), batch.after.to_json()};
  }

  bool can_validate() const override { return !validation_.empty(); }

  Validation validate(Seq2Seq& model) override {
    const StepResult result = evaluate_loss(model, validation_, communicator_);
    return {.score = result.nll,
            .higher_is_better = false,
            .values = {{"nll", result.nll}, {"accuracy", result.accuracy}}};
  }

 private:
  const std::vector<Batch>& validation_;
  Communicator& communicator_;
  CorpusStream stream_;
};

}  // namespace

TrainingSummary pretrain(const PretrainOptions& given, Communicator& communicator) {
  const Tokenizer tokenizer = Tokenizer::load(given.tokenizer);
  const std::shared_ptr<const Objective> objective =
      make_objective(given.objective, tokenizer.vocabulary());
  check_vocabulary(given, tokenizer.vocabulary(), *objective);
  check(given, communicator.size());
  const int64_t segment_length = objective->segment_length(given.corpus.room);
  const PretrainOptions options =
      with_schedule(given, objective->mean_source_length(segment_length));
  TrainingShape shape = training_shape(options, options.corpus.batch_rows / communicator.size());
  const ExampleLengths lengths = objective->lengths(segment_length);
  shape.source = lengths.source;
  shape.target = lengths.target;
  require_training_memory(options, options.model, shape);
  require(options.model.positions != Positions::Learned ||
              std::max(lengths.source, lengths.target) <= options.model.max_positions,
          "sources of {} and targets of {} tokens are longer than max_positions {}; set "
          "max_positions={}",
          lengths.source, lengths.target, options.model.max_positions,
          std::max(lengths.source, lengths.target));
  const ValidationData validation = draw_validation(options, tokenizer, objective, communicator);
  auto model = std::make_shared<Seq2Seq>(options.model);
  model->initialise(options.seed);
  TrainingRun run(options, model, {.tokenizer_from = options.tokenizer},
                  identity_of(options, tokenizer, *objective, validation), communicator);
  CorpusLesson lesson(options, tokenizer, objective, validation.batches, run.cursor(),
                      communicator);
  const TrainingSummary summary = run.go(lesson);
  if (summary.finished()) run.write_last();
  return summary;
}

TrainingSummary pretrain(const PretrainOptions& options) {
  const auto alone = make_single_communicator();
  return pretrain(options, *alone);
}

}  // namespace convseq
