#include "convseq/runtime/cpu_engine.h"

#include <algorithm>

#include "convseq/base/error.h"
#include "convseq/runtime/cpu_decoding.h"
#include "convseq/runtime/sequence_pass.h"

namespace convseq {
namespace {

// Logits that a thread holds at once when it scores targets: 4 MB.
constexpr int64_t kLogitsAtOnce = 1 << 20;

struct CpuEncoded : Engine::Encoded {
  Buffer states;                      // [rows of all sources, d]
  std::vector<int64_t> starts = {0};  // the first row of each source, and the number of all rows

  int64_t sources() const { return std::ssize(starts) - 1; }
  int64_t first(int64_t source) const { return starts[static_cast<size_t>(source)]; }
  int64_t count(int64_t source) const { return first(source + 1) - first(source); }
};

// The likelihood of a target token at its position.
struct TokenLikelihood {
  float log = 0;
  bool is_likeliest = false;
};

class CpuEngine : public Engine {
 public:
  CpuEngine(std::shared_ptr<const CpuModel> model, std::shared_ptr<ThreadPool> pool)
      : model_(std::move(model)),
        pool_(std::move(pool)),
        pass_(*model_, *pool_),
        logits_(static_cast<size_t>(pool_->threads())) {}

  const ModelConfig& config() const override { return model_->config; }

  std::unique_ptr<Encoded> encode(const std::vector<TokenIds>& sources) override;
  std::unique_ptr<Decoding> start(const Encoded& encoded, int64_t max_tokens) override;
  void step(Decoding& decoding, const Select& select) override {
    static_cast<CpuDecoding&>(decoding).step(select);
  }
  std::vector<ChosenTokens> read(Decoding& decoding) override {
    return static_cast<CpuDecoding&>(decoding).read();
  }
  void reorder(Decoding& decoding, std::span<const int64_t> rows) override {
    static_cast<CpuDecoding&>(decoding).reorder(rows);
  }

  ClassScores score(const Encoded& encoded, const std::vector<TokenIds>& targets) override;
  std::vector<TokenNll> token_nll(const Encoded& encoded,
                                  const std::vector<TokenIds>& targets) override;
  ClassScores classify(const Encoded& encoded) override;

 private:
  // take(source, target, tokens) for each target of each source, where targets_of(source) are the
  // targets, and tokens the likelihoods of their tokens.
  template <class Targets, class Take>
  void score_targets(const CpuEncoded& encoded, Targets targets_of, Take take);
  std::vector<TokenLikelihood> token_likelihoods(std::span<const PassSequence> sequences,
                                                 const SourceMemory& memory);

  std::shared_ptr<const CpuModel> model_;
  std::shared_ptr<ThreadPool> pool_;
  SequencePass pass_;
  std::vector<Buffer> logits_;  // one per thread
};

std::unique_ptr<Engine::Encoded> CpuEngine::encode(const std::vector<TokenIds>& sources) {
  model_->stored->require_unchanged();
  auto encoded = std::make_unique<CpuEncoded>();
  std::vector<PassSequence> sequences;
  for (const TokenIds& each : sources) {
    encoded->starts.push_back(encoded->starts.back() + std::ssize(each));
    sequences.push_back({.ids = each});
  }
  const int64_t d = config().d_model;
  encoded->states.reserve_floats(encoded->starts.back() * d);
  pass_.run(sequences, {.side = Side::Encoder}, [&](const PassRows& rows) {
    rows.work.leave(model_->encoder.norm, encoded->states.floats() + rows.first * d);
  });
  return encoded;
}

std::unique_ptr<Engine::Decoding> CpuEngine::start(const Encoded& base, int64_t max_tokens) {
  model_->stored->require_unchanged();
  const auto& encoded = static_cast<const CpuEncoded&>(base);
  if (config().positions == Positions::Learned) {
    max_tokens = std::min(max_tokens, config().max_positions);
  }
  CpuDecodingOptions options{.sources = {}, .max_tokens = max_tokens};
  for (int64_t i = 0; i < encoded.sources(); ++i) {
    options.sources.push_back({.first = encoded.first(i), .count = encoded.count(i)});
  }
  return std::make_unique<CpuDecoding>(
      model_, pool_, SourceMemory(*model_, *pool_, encoded.states.floats(), encoded.starts.back()),
      options);
}

std::vector<TokenLikelihood> CpuEngine::token_likelihoods(std::span<const PassSequence> sequences,
                                                          const SourceMemory& memory) {
  std::vector<int32_t> wanted;
  for (const PassSequence& each : sequences) {
    for (const int32_t id : each.ids) check_token(config(), id);
    wanted.insert(wanted.end(), each.ids.begin(), each.ids.end());
  }
  std::vector<TokenLikelihood> likelihoods(wanted.size());
  const int64_t vocabulary = config().vocab_size;
  const int64_t at_once =
      std::clamp<int64_t>(kLogitsAtOnce / vocabulary, 1, pass_.max_block_rows());
  for (Buffer& each : logits_) each.reserve_floats(at_once * vocabulary);
  const PassOptions options{.side = Side::Decoder, .key_values = memory.layers()};
  pass_.run(sequences, options, [&](const PassRows& rows) {
    float* logits = logits_[static_cast<size_t>(rows.thread)].floats();
    for (int64_t begin = 0; begin < rows.count; begin += at_once) {
      const int64_t end = std::min(begin + at_once, rows.count);
      rows.work.logits(begin, end, logits);
      for (int64_t row = begin; row < end; ++row) {
        const float* each = logits + (row - begin) * vocabulary;
        const auto at = static_cast<size_t>(rows.first + row);
        const auto best = kernels::likeliest_token(each, vocabulary, model_->level);
        likelihoods[at] = {.log = best.log_probability + (each[wanted[at]] - each[best.id]),
                           .is_likeliest = wanted[at] == best.id};
      }
    }
  });
  return likelihoods;
}

template <class Targets, class Take>
void CpuEngine::score_targets(const CpuEncoded& encoded, Targets targets_of, Take take) {
  // The keys and values of a few sources are held at a time.
  for (int64_t begin = 0, end = 0; begin < encoded.sources(); begin = end) {
    const int64_t first = encoded.first(begin);
    std::vector<PassSequence> sequences;
    int64_t target_rows = 0;
    do {
      for (const TokenIds& each : targets_of(end)) {
        sequences.push_back({.ids = each,
                             .source_first = encoded.first(end) - first,
                             .source_count = encoded.count(end)});
        target_rows += std::ssize(each);
      }
      ++end;
    } while (end < encoded.sources() && target_rows < pass_.group_rows() &&
             encoded.first(end + 1) - first <= pass_.group_rows());
    const SourceMemory memory(*model_, *pool_, encoded.states.floats() + first * config().d_model,
                              encoded.first(end) - first);
    const auto likelihoods = token_likelihoods(sequences, memory);
    auto tokens = std::span(likelihoods);
    auto sequence = sequences.begin();
    for (int64_t source = begin; source < end; ++source) {
      for (size_t target = 0; target < targets_of(source).size(); ++target, ++sequence) {
        take(source, target, tokens.first(sequence->ids.size()));
        tokens = tokens.subspan(sequence->ids.size());
      }
    }
  }
}

ClassScores CpuEngine::score(const Encoded& base, const std::vector<TokenIds>& targets) {
  const auto& encoded = static_cast<const CpuEncoded&>(base);
  ClassScores scores(static_cast<size_t>(encoded.sources()), std::vector<double>(targets.size()));
  score_targets(
      encoded, [&](int64_t) { return std::span(targets); },
      [&](int64_t source, size_t target, std::span<const TokenLikelihood> tokens) {
        double& sum = scores[static_cast<size_t>(source)][target];
        for (const TokenLikelihood& each : tokens) sum += each.log;
      });
  return scores;
}

std::vector<TokenNll> CpuEngine::token_nll(const Encoded& base,
                                           const std::vector<TokenIds>& targets) {
  const auto& encoded = static_cast<const CpuEncoded&>(base);
  std::vector<TokenNll> nlls(static_cast<size_t>(encoded.sources()));
  score_targets(
      encoded,
      [&](int64_t source) { return std::span(targets).subspan(static_cast<size_t>(source), 1); },
      [&](int64_t source, size_t, std::span<const TokenLikelihood> tokens) {
        TokenNll& nll = nlls[static_cast<size_t>(source)];
        for (const TokenLikelihood& each : tokens) {
          nll += {.nll = -double{each.log}, .tokens = 1, .right = each.is_likeliest ? 1 : 0};
        }
      });
  return nlls;
}

ClassScores CpuEngine::classify(const Encoded& base) {
  const auto& encoded = static_cast<const CpuEncoded&>(base);
  const int64_t classes = config().classes, d = config().d_model;
  require(classes > 0, "this model has no classification head (classes is 0)");
  Buffer means;
  means.reserve_floats(encoded.sources() * d);
  ClassScores scores(static_cast<size_t>(encoded.sources()));
  pool_->run(encoded.sources(), [&](int64_t source, int64_t) {
    float* mean = means.floats() + source * d;
    std::fill_n(mean, d, 0.0f);
    if (encoded.count(source) > 0) {
      kernels::mean_rows({encoded.states.floats() + encoded.first(source) * d, d},
                         encoded.count(source), d, mean, model_->level);
    }
    auto& logits = scores[static_cast<size_t>(source)];
    for (int64_t i = 0; i < classes; ++i) {
      const float* weight = model_->classifier_weight + i * d;
      double sum = model_->classifier_bias[i];
      for (int64_t c = 0; c < d; ++c) sum += double{mean[c]} * double{weight[c]};
      logits.push_back(sum);
    }
  });
  return scores;
}

}  // namespace

std::unique_ptr<Engine> load_cpu_engine(const std::filesystem::path& folder,
                                        const CpuEngineOptions& options) {
  const int64_t threads = options.threads > 0 ? options.threads : usable_cores();
  return std::make_unique<CpuEngine>(
      load_cpu_model(folder, options),
      options.pool != nullptr ? options.pool : std::make_shared<ThreadPool>(threads));
}

}  // namespace convseq
