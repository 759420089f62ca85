#pragma once

#include <vector>

#include "convseq/answer/greedy.h"
#include "convseq/runtime/engine.h"

namespace convseq::testing {

// All that an engine says about some sources.
struct EngineAnswers {
  ClassScores labels, classes;
  std::vector<TokenNll> nlls;
  std::vector<Generation> generations;
};

struct EngineQuestions {
  size_t max_target = 5;   // the targets of sources have 1 to so many tokens
  int64_t max_tokens = 9;  // that are generated
};

// The model must have a head, and a vocabulary of more than 7 tokens.
inline EngineAnswers answers_of(Engine& engine, const std::vector<TokenIds>& sources,
                                const EngineQuestions& questions = {}) {
  std::vector<TokenIds> targets;
  for (const TokenIds& each : sources) {
    targets.emplace_back(each.size() % questions.max_target + 1, 7);
  }
  return {.labels = engine.score(*engine.encode(sources), {{2, 1}, {5, 3, 4, 1}, {1}}),
          .classes = engine.classify(*engine.encode(sources)),
          .nlls = engine.token_nll(*engine.encode(sources), targets),
          .generations = generate_greedy(engine, sources, {.max_tokens = questions.max_tokens})};
}

}  // namespace convseq::testing
