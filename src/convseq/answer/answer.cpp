#include "convseq/answer/answer.h"

#include "convseq/spec/vocabulary_check.h"

namespace convseq {
namespace {

// The sequences of a batch, whose ids are checked: an engine trusts them.
std::vector<TokenIds> pick(const Engine& engine, const std::vector<TokenIds>& sequences,
                           const std::vector<size_t>& numbers) {
  std::vector<TokenIds> picked;
  for (size_t number : numbers) {
    check_ids(engine.config(), sequences[number]);
    picked.push_back(sequences[number]);
  }
  return picked;
}

// `answer` takes the numbers of a batch and returns one result for each.
template <class Result, class Answer>
std::vector<Result> answer_all(const std::vector<TokenIds>& sources,
                               const LengthBatchOptions& options, Answer answer) {
  std::vector<Result> results(sources.size());
  for (const auto& numbers : batches_by_length(sources, options)) {
    std::vector<Result> batch = answer(numbers);
    for (size_t i = 0; i < numbers.size(); ++i) results[numbers[i]] = std::move(batch[i]);
    if (options.on_batch) options.on_batch(numbers.size());
  }
  return results;
}

}  // namespace

std::vector<Generation> generate_answers(Engine& engine, const std::vector<TokenIds>& sources,
                                         const GreedyOptions& greedy,
                                         const LengthBatchOptions& batches) {
  return answer_all<Generation>(sources, batches, [&](const auto& numbers) {
    return generate_greedy(engine, pick(engine, sources, numbers), greedy);
  });
}

ClassScores score_labels(const LabelScorer& scorer, const std::vector<TokenIds>& sources,
                         const LengthBatchOptions& batches) {
  return answer_all<std::vector<double>>(sources, batches, [&](const auto& numbers) {
    return scorer.score(pick(scorer.engine(), sources, numbers));
  });
}

ClassScores score_classes(Engine& engine, const std::vector<TokenIds>& sources,
                          const LengthBatchOptions& batches) {
  return answer_all<std::vector<double>>(sources, batches, [&](const auto& numbers) {
    return engine.classify(*engine.encode(pick(engine, sources, numbers)));
  });
}

std::vector<TokenNll> answer_nlls(Engine& engine, const std::vector<TokenIds>& sources,
                                  const std::vector<TokenIds>& targets,
                                  const LengthBatchOptions& batches) {
  return answer_all<TokenNll>(sources, batches, [&](const auto& numbers) {
    return engine.token_nll(*engine.encode(pick(engine, sources, numbers)),
                            pick(engine, targets, numbers));
  });
}

}  // namespace convseq
