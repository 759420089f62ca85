#include "convseq/data/corpus/corpus_stream.h"

#include "convseq/base/checksum.h"
#include "convseq/data/corpus/shard/shard_groups.h"
#include "convseq/data/corpus/text_groups.h"
#include "convseq/data/random_use.h"

namespace convseq {

CorpusStream::CorpusStream(const Tokenizer& tokenizer, std::shared_ptr<const Objective> objective,
                           CorpusStreamOptions options, const StreamCursor& start)
    : options_(std::move(options)),
      objective_(std::move(objective)),
      segment_length_(objective_->segment_length(options_.room)) {
  require(!options_.corpora.empty(), "pre-training needs a corpus");
  cursor_.version = start.version;
  require(options_.batch_rows >= options_.rank.count,
          "a batch of {} examples for {} processes; each process needs at least one",
          options_.batch_rows, options_.rank.count);
  for (size_t i = 0; i < options_.corpora.size(); ++i) {
    const CorpusShare& share = options_.corpora[i];
    require(share.weight > 0, "{}: its weight is {}; it must be more than 0", share.corpus,
            share.weight);
    corpora_.emplace_back(open(share.corpus, tokenizer), options_.seed,
                          i < start.corpora.size() ? start.corpora[i] : SegmentCursor{});
  }
  cursor_.examples = start.examples;
  cursor_.fingerprint = fingerprint();
  require(start == StreamCursor{} || start.fingerprint == cursor_.fingerprint,
          "the cursor to resume from belongs to other corpora, weights, lengths, another objective "
          "or another seed");
  batches_.emplace(
      PrefetcherOptions{.threads = options_.threads, .capacity = options_.batches_ahead},
      [this] { return draw(); }, [this](Draft draft) { return make(std::move(draft)); });
}

std::unique_ptr<SegmentGroups> CorpusStream::open(const std::string& corpus,
                                                  const Tokenizer& tokenizer) const {
  if (!ShardManifest::is_in(corpus)) {
    const HeldOutFiles held_out =
        cursor_.version == 1 ? HeldOutFiles::Take : HeldOutFiles::LeaveOut;
    return std::make_unique<TextGroups>(expand_corpus(corpus, held_out), tokenizer,
                                        TextGroupsOptions{.segment_length = segment_length_,
                                                          .threads = options_.threads,
                                                          .seed = options_.seed,
                                                          .bad_lines = options_.bad_lines});
  }
  TokenCorpus shards(corpus);
  require(shards.tokenizer() == tokenizer.fingerprint(),
          "{}: its shards were made with another tokenizer", corpus);
  return std::make_unique<ShardGroups>(
      std::move(shards),
      ShardGroupsOptions{.segment_length = segment_length_, .seed = options_.seed});
}

uint32_t CorpusStream::fingerprint() const {
  std::string all = fmt::format("{} {}", options_.seed, segment_length_);
  for (size_t i = 0; i < corpora_.size(); ++i) {
    all += fmt::format(" {}:{}", corpora_[i].fingerprint(), options_.corpora[i].weight);
  }
  const bool before_objectives = cursor_.version == 1;  // the only one was span corruption
  if (!before_objectives || objective_->kind() != ObjectiveKind::SpanCorruption) {
    all += " " + objective_->fingerprint();
  }
  return crc32_of(all);
}

size_t CorpusStream::choose_corpus() const {
  double sum = 0;
  for (const CorpusShare& share : options_.corpora) sum += share.weight;
  double left =
      sum *
      Random(options_.seed, {kCorpusChoice, static_cast<uint64_t>(cursor_.examples)}).uniform();
  size_t chosen = 0;
  while (chosen + 1 < corpora_.size() && left >= options_.corpora[chosen].weight) {
    left -= options_.corpora[chosen++].weight;
  }
  return chosen;
}

std::optional<CorpusStream::Draft> CorpusStream::draw() {
  Draft draft;
  const RankRows mine = rows_of(options_.rank, options_.batch_rows);
  for (int64_t row = 0; row < options_.batch_rows; ++row, ++cursor_.examples) {
    const size_t corpus = choose_corpus();
    if (!mine.contains(row)) {
      corpora_[corpus].skip();
      continue;
    }
    const SegmentCursor name = corpora_[corpus].next(draft.ids);
    draft.ends.push_back(draft.ids.size());
    draft.randoms.emplace_back(
        options_.seed,
        std::initializer_list<uint64_t>{kExample, corpus, static_cast<uint64_t>(name.group.epoch),
                                        static_cast<uint64_t>(name.group.group),
                                        static_cast<uint64_t>(name.position)});
  }
  draft.after = cursor_;
  for (const ShuffledSegments& corpus : corpora_) draft.after.corpora.push_back(corpus.cursor());
  return draft;
}

StreamBatch CorpusStream::make(Draft draft) const {
  std::vector<Example> examples(draft.ends.size());
  size_t begin = 0;
  for (size_t row = 0; row < examples.size(); ++row) {
    const auto segment = std::span(draft.ids).subspan(begin, draft.ends[row] - begin);
    objective_->make(segment, draft.randoms[row], examples[row]);
    begin = draft.ends[row];
  }
  return {make_batch(examples, objective_->lengths(segment_length_)), std::move(draft.after)};
}

StreamBatch CorpusStream::next() { return *batches_->next(); }

}  // namespace convseq
