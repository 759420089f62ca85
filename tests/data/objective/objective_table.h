#pragma once

#include <map>

#include "convseq/data/objective/make_objective.h"

namespace convseq::testing {

inline const Vocabulary kObjectiveVocabulary(32000);

// The spans of a target of span corruption: what follows each sentinel, up to the next one or the
// closing EOS.
inline std::map<int32_t, std::vector<int32_t>> spans_of(const std::vector<int32_t>& target) {
  std::map<int32_t, std::vector<int32_t>> spans;
  int32_t sentinel = -1;
  for (size_t i = 0; i + 1 < target.size(); ++i) {
    if (kObjectiveVocabulary.is_sentinel(target[i])) {
      sentinel = target[i];
      spans[sentinel];
    } else {
      spans[sentinel].push_back(target[i]);
    }
  }
  return spans;
}

// The segment again, from the source and the target that were made of it.
inline std::vector<int32_t> fill_spans(const Example& example) {
  const auto spans = spans_of(example.target);
  std::vector<int32_t> segment;
  for (size_t i = 0; i + 1 < example.source.size(); ++i) {
    const int32_t id = example.source[i];
    if (kObjectiveVocabulary.is_sentinel(id)) {
      segment.insert(segment.end(), spans.at(id).begin(), spans.at(id).end());
    } else {
      segment.push_back(id);
    }
  }
  return segment;
}

inline std::vector<int32_t> join_sides(const Example& example) {
  std::vector<int32_t> segment(example.source.begin(), example.source.end() - 1);
  segment.insert(segment.end(), example.target.begin(), example.target.end() - 1);
  return segment;
}

struct ObjectiveCase {
  ObjectiveKind kind;
  std::vector<int32_t> (*restore)(const Example& example);
};

// One row per objective.
inline const ObjectiveCase kObjectiveCases[] = {
    {ObjectiveKind::SpanCorruption, fill_spans},
    {ObjectiveKind::PrefixLm, join_sides},
};

inline std::vector<int32_t> random_segment(Random& random, size_t length) {
  std::vector<int32_t> segment(length);
  for (int32_t& id : segment) id = static_cast<int32_t>(1 + random.below(31999));
  return segment;
}

inline Example made_by(const Objective& objective, const std::vector<int32_t>& segment,
                       uint64_t key) {
  Example example;
  Random random(5, {key});
  objective.make(segment, random, example);
  return example;
}

}  // namespace convseq::testing
