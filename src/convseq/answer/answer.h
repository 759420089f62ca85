#pragma once

#include "convseq/answer/greedy.h"
#include "convseq/answer/label_scorer.h"
#include "convseq/answer/length_batches.h"

namespace convseq {

// These answer a whole split in batches of similar length. Results are in the order of `sources`,
// whose sequences end with their EOS.
std::vector<Generation> generate_answers(Engine& engine, const std::vector<TokenIds>& sources,
                                         const GreedyOptions& greedy,
                                         const LengthBatchOptions& batches = {});

// The scores of all labels, or the logits of the classification head, for each source.
ClassScores score_labels(const LabelScorer& scorer, const std::vector<TokenIds>& sources,
                         const LengthBatchOptions& batches = {});
ClassScores score_classes(Engine& engine, const std::vector<TokenIds>& sources,
                          const LengthBatchOptions& batches = {});

// The likelihood of each target, which ends with its EOS too.
std::vector<TokenNll> answer_nlls(Engine& engine, const std::vector<TokenIds>& sources,
                                  const std::vector<TokenIds>& targets,
                                  const LengthBatchOptions& batches = {});

}  // namespace convseq
