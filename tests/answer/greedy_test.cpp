#include "convseq/answer/greedy.h"

#include <gtest/gtest.h>

#include "answer/table_engine.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::table_sources;
using testing::TableEngine;

namespace {

constexpr int64_t kMaxTokens = 9;

// One token after another, one source alone.
Generation expected_generation(const TableEngine& engine, const TokenIds& source) {
  Generation generation;
  int64_t last = engine.config().decoder_start_token_id;
  for (int64_t i = 0; i < kMaxTokens && !generation.ended; ++i) {
    const int32_t token = engine.likeliest(source, last);
    generation.log_probability += engine.log_probability(source, last, token);
    generation.ended = token == engine.config().eos_token_id;
    if (!generation.ended) generation.tokens.push_back(token);
    last = token;
  }
  return generation;
}

TEST(Greedy, FollowsTheTableAtEveryPaceWithEveryEos) {
  ModelConfig config = TableEngine::small_config();
  bool some_end = false, some_go_on = false;
  for (config.eos_token_id = 0; config.eos_token_id < config.vocab_size; ++config.eos_token_id) {
    for (const int64_t steps : {1, 2, 4, 16}) {
      for (const double share : {0.0, 0.5, 1.0}) {
        TableEngine engine(config, {.steps_between_reads = steps, .compact_below = share});
        const auto found = generate_greedy(engine, table_sources(), {.max_tokens = kMaxTokens});
        for (size_t i = 0; i < found.size(); ++i) {
          const Generation expected = expected_generation(engine, table_sources()[i]);
          EXPECT_EQ(found[i].tokens, expected.tokens);
          EXPECT_EQ(found[i].ended, expected.ended);
          EXPECT_NEAR(found[i].log_probability, expected.log_probability, 1e-5);
          (found[i].ended ? some_end : some_go_on) = true;
        }
      }
    }
  }
  EXPECT_TRUE(some_end && some_go_on);
}

TEST(Greedy, EndsAtATokenThatEndsTheAnswerOfItsSource) {
  const std::vector<TokenIds> sources = table_sources();
  const auto ends = [](const TokenIds& source, int32_t token) {
    return token == static_cast<int32_t>(2 + source.size() % 3);
  };
  size_t shorter = 0;
  for (const double share : {0.0, 0.5, 1.0}) {
    TableEngine engine(TableEngine::small_config(), {.compact_below = share});
    const auto whole = generate_greedy(engine, sources, {.max_tokens = kMaxTokens});
    const auto found = generate_greedy(engine, sources, {.max_tokens = kMaxTokens, .ends = ends});
    for (size_t i = 0; i < sources.size(); ++i) {
      const TokenIds& tokens = whole[i].tokens;
      const auto end = std::find_if(tokens.begin(), tokens.end(),
                                    [&](int32_t token) { return ends(sources[i], token); });
      EXPECT_EQ(found[i].tokens, TokenIds(tokens.begin(), end));
      EXPECT_EQ(found[i].ended, whole[i].ended || end != tokens.end());
      shorter += end != tokens.end() ? 1 : 0;
    }
  }
  EXPECT_GT(shorter, 0u);
}

TEST(Greedy, RemovesEndedRowsWhereFewAreOpen) {
  ModelConfig config = TableEngine::small_config();
  size_t tokens = 0, at_once = 0, by_half = 0, never = 0;
  for (config.eos_token_id = 0; config.eos_token_id < config.vocab_size; ++config.eos_token_id) {
    const auto rows_stepped = [&](double share) {
      TableEngine engine(config, {.compact_below = share});
      generate_greedy(engine, table_sources(), {.max_tokens = kMaxTokens});
      return engine.rows_stepped;
    };
    at_once += rows_stepped(1);
    by_half += rows_stepped(0.5);
    never += rows_stepped(0);
    for (const TokenIds& source : table_sources()) {
      const Generation expected = expected_generation(TableEngine(config), source);
      tokens += expected.tokens.size() + (expected.ended ? 1 : 0);
    }
  }
  EXPECT_EQ(at_once, tokens);
  EXPECT_GT(by_half, at_once);
  EXPECT_GT(never, by_half);
}

TEST(Greedy, ReadsAsRarelyAsTheEngineAsks) {
  TableEngine engine(TableEngine::small_config(), {.steps_between_reads = 4, .compact_below = 0});
  generate_greedy(engine, table_sources(), {.max_tokens = kMaxTokens});
  EXPECT_EQ(engine.reads, 5u);  // after 1, 2, 4, 8 and 9 steps
}

TEST(Greedy, TakesNoStepPastTheLastPositionForEndedRows) {
  ModelConfig config = TableEngine::small_config();
  config.positions = Positions::Learned;
  int tried = 0;
  for (config.eos_token_id = 0; config.eos_token_id < config.vocab_size; ++config.eos_token_id) {
    for (const TokenIds& source : table_sources()) {
      const Generation expected = expected_generation(TableEngine(config), source);
      if (!expected.ended) continue;
      config.max_positions = std::ssize(expected.tokens) + 1;  // its EOS is the last step
      TableEngine engine(config, {.steps_between_reads = 16});
      EXPECT_EQ(generate_greedy(engine, {source}, {.max_tokens = 100})[0].tokens, expected.tokens);
      tried += config.max_positions == 3;  // not read after 3 steps otherwise
    }
  }
  EXPECT_GT(tried, 0);
}

TEST(Greedy, RefusesToSayNothing) {
  TableEngine engine(TableEngine::small_config());
  EXPECT_EQ(message_of<Error>([&] { generate_greedy(engine, {{1}}, {.max_tokens = 0}); }),
            "generate: max_tokens is 0; at least 1");
}

}  // namespace
}  // namespace convseq
