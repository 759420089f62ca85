#include "convseq/infer/answer.h"

#include <torch/types.h>

#include "convseq/infer/inference_scope.h"
#include "convseq/spec/vocabulary_check.h"

namespace convseq {
namespace {

std::vector<TokenIds> pick(const std::vector<TokenIds>& sequences,
                           const std::vector<size_t>& numbers) {
  std::vector<TokenIds> picked;
  for (size_t number : numbers) picked.push_back(sequences[number]);
  return picked;
}

PaddedIds padded_for(const Seq2Seq& model, const std::vector<TokenIds>& sequences) {
  for (const TokenIds& each : sequences) check_ids(model.config(), each);
  return pad(sequences, {.pad_token = model.config().pad_token_id,
                         .device = model.parameters().front().device()});
}

std::vector<size_t> likeliest(const torch::Tensor& scores) {  // [B,K]
  const auto best = scores.argmax(1).cpu();
  return {best.data_ptr<int64_t>(), best.data_ptr<int64_t>() + best.numel()};
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

std::vector<Generation> generate_answers(Seq2Seq& model, const std::vector<TokenIds>& sources,
                                         const GreedyOptions& greedy,
                                         const LengthBatchOptions& batches) {
  return answer_all<Generation>(sources, batches, [&](const auto& numbers) {
    return generate_greedy(model, padded_for(model, pick(sources, numbers)), greedy);
  });
}

std::vector<size_t> choose_labels(const LabelScorer& scorer, const std::vector<TokenIds>& sources,
                                  const LengthBatchOptions& batches) {
  return answer_all<size_t>(sources, batches, [&](const auto& numbers) {
    const auto scores = scorer.score(padded_for(scorer.model(), pick(sources, numbers)));
    return likeliest(scores);
  });
}

std::vector<size_t> choose_classes(Seq2Seq& model, const std::vector<TokenIds>& sources,
                                   const LengthBatchOptions& batches) {
  return answer_all<size_t>(sources, batches, [&](const auto& numbers) {
    const InferenceScope scope(model);
    const PaddedIds source = padded_for(model, pick(sources, numbers));
    return likeliest(model.classify(model.encode(source.ids, source.lengths), source.lengths));
  });
}

std::vector<TokenNll> answer_nlls(Seq2Seq& model, const std::vector<TokenIds>& sources,
                                  const std::vector<TokenIds>& targets,
                                  const LengthBatchOptions& batches) {
  return answer_all<TokenNll>(sources, batches, [&](const auto& numbers) {
    return target_nlls(model, padded_for(model, pick(sources, numbers)),
                       padded_for(model, pick(targets, numbers)));
  });
}

}  // namespace convseq
