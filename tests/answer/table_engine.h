#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/runtime/engine.h"

namespace convseq::testing {

// An Engine whose next token depends on the sum of the source and on the last token alone, by a
// small random table.
class TableEngine : public Engine {
 public:
  explicit TableEngine(const ModelConfig& config, DecodePace pace = {})
      : config_(config), pace_(pace) {
    Random random(7, {});
    for (double& each : logits_) each = 4 * random.uniform();
  }

  static ModelConfig small_config() {
    ModelConfig config{.vocab_size = kTokens};
    config.classes = 3;
    return config;
  }

  // log p(next | source, last), the softmax of one row of the table.
  double log_probability(const TokenIds& source, int64_t last, int64_t next) const {
    const double* row = row_of(source, last);
    double sum = 0;
    for (int64_t i = 0; i < kTokens; ++i) sum += std::exp(row[i]);
    return row[next] - std::log(sum);
  }
  double log_probability(const TokenIds& source, const TokenIds& target) const {
    double sum = 0;
    int64_t last = config_.decoder_start_token_id;
    for (int32_t token : target) {
      sum += log_probability(source, last, token);
      last = token;
    }
    return sum;
  }
  int32_t likeliest(const TokenIds& source, int64_t last) const {
    const double* row = row_of(source, last);
    return static_cast<int32_t>(std::max_element(row, row + kTokens) - row);
  }

  const ModelConfig& config() const override { return config_; }
  DecodePace pace() const override { return pace_; }

  std::unique_ptr<Encoded> encode(const std::vector<TokenIds>& sources) override {
    auto encoded = std::make_unique<Sources>();
    encoded->rows = sources;
    return encoded;
  }

  std::unique_ptr<Decoding> start(const Encoded& encoded, int64_t max_tokens) override {
    auto targets = std::make_unique<Targets>();
    const bool bounded = config_.positions == Positions::Learned;
    targets->steps_left = bounded ? std::min(max_tokens, config_.max_positions) : max_tokens;
    for (const TokenIds& source : rows_of(encoded)) {
      targets->rows.push_back(
          {.source = source, .last = static_cast<int32_t>(config_.decoder_start_token_id)});
    }
    return targets;
  }

  void step(Decoding& decoding, const Select& select) override {
    auto& targets = static_cast<Targets&>(decoding);
    require(targets.steps_left-- > 0, "a step past the last position");
    rows_stepped += targets.rows.size();
    ChosenTokens chosen;
    for (size_t i = 0; i < targets.rows.size(); ++i) {
      Row& row = targets.rows[i];
      const int32_t token =
          select.given.empty() ? likeliest(row.source, row.last) : select.given[i];
      chosen.log_probabilities.push_back(
          static_cast<float>(log_probability(row.source, row.last, token)));
      row.last = row.ended ? static_cast<int32_t>(config_.pad_token_id) : token;
      row.ended |= token == config_.eos_token_id;
      chosen.ids.push_back(row.last);
    }
    targets.unread.push_back(chosen);
  }

  std::vector<ChosenTokens> read(Decoding& decoding) override {
    ++reads;
    return std::exchange(static_cast<Targets&>(decoding).unread, {});
  }

  void reorder(Decoding& decoding, std::span<const int64_t> rows) override {
    auto& targets = static_cast<Targets&>(decoding);
    require(targets.unread.empty(), "reorder() before read()");
    std::vector<Row> kept;
    for (int64_t row : rows) kept.push_back(targets.rows[static_cast<size_t>(row)]);
    targets.rows = kept;
  }

  ClassScores score(const Encoded& encoded, const std::vector<TokenIds>& targets) override {
    ClassScores scores;
    for (const TokenIds& source : rows_of(encoded)) {
      scores.emplace_back();
      for (const TokenIds& each : targets) scores.back().push_back(log_probability(source, each));
    }
    return scores;
  }

  std::vector<TokenNll> token_nll(const Encoded& encoded,
                                  const std::vector<TokenIds>& targets) override {
    std::vector<TokenNll> nlls;
    for (size_t i = 0; i < targets.size(); ++i) {
      nlls.push_back({.nll = -log_probability(rows_of(encoded)[i], targets[i]),
                      .tokens = std::ssize(targets[i])});
    }
    return nlls;
  }

  ClassScores classify(const Encoded& encoded) override {
    ClassScores scores;
    for (const TokenIds& source : rows_of(encoded)) {
      const double* row = row_of(source, 0);
      scores.emplace_back(row, row + config_.classes);
    }
    return scores;
  }

  size_t rows_stepped = 0, reads = 0;

 private:
  static constexpr int64_t kSources = 11, kTokens = 6;

  struct Row {
    TokenIds source;
    int32_t last = 0;
    bool ended = false;
  };
  struct Sources : Encoded {
    std::vector<TokenIds> rows;
  };
  struct Targets : Decoding {
    std::vector<Row> rows;
    std::vector<ChosenTokens> unread;
    int64_t steps_left = 0;
  };

  static const std::vector<TokenIds>& rows_of(const Encoded& encoded) {
    return static_cast<const Sources&>(encoded).rows;
  }
  const double* row_of(const TokenIds& source, int64_t last) const {
    const int64_t sum = std::accumulate(source.begin(), source.end(), int64_t{0});
    return &logits_[static_cast<size_t>((sum % kSources * kTokens + last) * kTokens)];
  }

  ModelConfig config_;
  DecodePace pace_;
  std::vector<double> logits_ = std::vector<double>(kSources * kTokens * kTokens);
};

// Sources whose sums differ, of several lengths.
inline std::vector<TokenIds> table_sources() {
  return {{2, 1}, {3, 3, 1}, {1}, {5, 5, 5, 1}, {}, {4, 1}, {2, 2, 2, 2, 1}, {3, 1}, {5, 1}};
}

}  // namespace convseq::testing
