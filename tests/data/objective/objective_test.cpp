#include <gtest/gtest.h>

#include <set>

#include "data/objective/objective_table.h"
#include "temp_folder.h"

namespace convseq {
namespace {

using testing::kObjectiveCases;
using testing::kObjectiveVocabulary;
using testing::made_by;
using testing::message_of;
using testing::ObjectiveCase;
using testing::random_segment;

// An objective with options drawn from their ranges, at most 20.
ObjectiveOptions random_options(ObjectiveKind kind, Random& random) {
  ObjectiveOptions options{.kind = kind, .numbers = {}};
  for (const auto& [option, value] : default_numbers(kind)) {
    const double most = std::min(option.max, 20.0);
    options.numbers[std::string(option.name)] = option.min + (most - option.min) * random.uniform();
  }
  return options;
}

class Objectives : public ::testing::TestWithParam<ObjectiveCase> {
 protected:
  // Calls `use` with objectives of many options and with a stream of random numbers.
  void for_many(int count, const std::function<void(const Objective&, Random&)>& use) const {
    Random random(11);
    use(*make_objective({.kind = GetParam().kind, .numbers = {}}, kObjectiveVocabulary), random);
    for (int i = 1; i < count; ++i) {
      use(*make_objective(random_options(GetParam().kind, random), kObjectiveVocabulary), random);
    }
  }
};

TEST_P(Objectives, SourceAndTargetGiveBackTheSegment) {
  for_many(2000, [&](const Objective& objective, Random& random) {
    const auto segment = random_segment(random, 1 + random.below(1500));
    const Example example = made_by(objective, segment, random.bits64());
    ASSERT_EQ(GetParam().restore(example), segment) << objective.describe(std::ssize(segment));
    ASSERT_EQ(example.source.back(), Vocabulary::kEos);
    ASSERT_EQ(example.target.back(), Vocabulary::kEos);
  });
}

TEST_P(Objectives, EveryExampleKeepsToTheLengths) {
  for_many(200, [&](const Objective& objective, Random& random) {
    for (const size_t length : {2, 3, 17, 568}) {
      const ExampleLengths most = objective.lengths(static_cast<int64_t>(length));
      for (int i = 0; i < 10; ++i) {
        const Example example = made_by(objective, random_segment(random, length), random.bits64());
        ASSERT_LE(std::ssize(example.source), most.source) << length;
        ASSERT_LE(std::ssize(example.target), most.target) << length;
      }
    }
  });
}

TEST_P(Objectives, TheLongestSegmentThatFitsIsFoundForAnyLengths) {
  for_many(20, [&](const Objective& objective, Random& random) {
    const ExampleLengths room{.source = 40 + static_cast<int64_t>(random.below(2000)),
                              .target = 40 + static_cast<int64_t>(random.below(2000))};
    const auto fits = [&](int64_t length) {
      const ExampleLengths needed = objective.lengths(length);
      return needed.source <= room.source && needed.target <= room.target;
    };
    const int64_t length = objective.segment_length(room);
    EXPECT_TRUE(fits(length) && !fits(length + 1)) << length << " of " << room.source;
  });
}

TEST_P(Objectives, MeanSourceLengthIsThatOfManyExamples) {
  for_many(10, [&](const Objective& objective, Random& random) {
    const auto segment = random_segment(random, 300);
    double sum = 0;
    constexpr int kExamples = 4000;
    for (uint64_t i = 0; i < kExamples; ++i) {
      sum += static_cast<double>(made_by(objective, segment, i).source.size());
    }
    // Five standard errors of lengths that are uniform over all 300.
    EXPECT_NEAR(sum / kExamples, objective.mean_source_length(300), 5 * 87 / std::sqrt(kExamples));
  });
}

TEST_P(Objectives, AnExampleIsAFunctionOfItsKey) {
  for_many(20, [&](const Objective& objective, Random& random) {
    const auto segment = random_segment(random, 400);
    const Example once = made_by(objective, segment, 7), again = made_by(objective, segment, 7);
    EXPECT_EQ(once.source, again.source);
    EXPECT_EQ(once.target, again.target);
  });
  const auto objective =
      make_objective({.kind = GetParam().kind, .numbers = {}}, kObjectiveVocabulary);
  Random random(12);
  const auto segment = random_segment(random, 400);
  std::set<std::vector<int32_t>> sources;
  for (uint64_t key = 0; key < 20; ++key) sources.insert(made_by(*objective, segment, key).source);
  EXPECT_GT(sources.size(), 10u) << "other keys, other examples";
}

TEST_P(Objectives, SentinelsOccurOnlyWhereTheObjectiveSaysSo) {
  for_many(50, [&](const Objective& objective, Random& random) {
    const Example example = made_by(objective, random_segment(random, 200), 1);
    bool found = false;
    for (const auto* side : {&example.source, &example.target}) {
      for (const int32_t id : *side) found = found || kObjectiveVocabulary.is_sentinel(id);
    }
    EXPECT_EQ(found, objective.uses_sentinels());
  });
}

TEST_P(Objectives, JsonGivesTheSameObjectiveAgain) {
  for_many(20, [&](const Objective& objective, Random&) {
    const Json json = parse_json(objective.to_json().dump(), "saved");
    EXPECT_EQ(json["objective"], name_of(GetParam().kind));
    const auto again =
        make_objective(ObjectiveOptions::from_json({json, "saved"}), kObjectiveVocabulary);
    EXPECT_EQ(again->fingerprint(), objective.fingerprint());
    EXPECT_EQ(again->to_json(), json);
  });
}

TEST_P(Objectives, EveryOptionChangesTheFingerprint) {
  const ObjectiveKind kind = GetParam().kind;
  const auto usual = make_objective({.kind = kind, .numbers = {}}, kObjectiveVocabulary);
  for (const auto& [option, value] : default_numbers(kind)) {
    const ObjectiveOptions other{.kind = kind, .numbers = {{std::string(option.name), option.max}}};
    EXPECT_NE(make_objective(other, kObjectiveVocabulary)->fingerprint(), usual->fingerprint())
        << option.name;
  }
}

TEST_P(Objectives, RefusesOptionsItDoesNotHaveAndValuesOutOfRange) {
  const ObjectiveKind kind = GetParam().kind;
  const auto refusal = [&](const std::string& name, double value) {
    return message_of<Error>([&] {
      make_objective({.kind = kind, .numbers = {{name, value}}}, kObjectiveVocabulary);
    });
  };
  const std::string start = "objective " + std::string(name_of(kind));
  EXPECT_EQ(refusal("colour", 1).find(start + " has no option colour; it has: "), 0u);
  for (const auto& [option, value] : default_numbers(kind)) {
    EXPECT_EQ(refusal(std::string(option.name), option.max + 1),
              fmt::format("{}: {} is {}; allowed: {} to {}", start, option.meaning, option.max + 1,
                          option.min, option.max));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Objectives, ::testing::ValuesIn(kObjectiveCases),
                         [](const auto& row) { return std::string(name_of(row.param.kind)); });

TEST(ObjectiveTable, HasEveryObjectiveAndNoOptionTwice) {
  std::set<ObjectiveKind> kinds;
  for (const ObjectiveCase& each : kObjectiveCases) kinds.insert(each.kind);
  EXPECT_EQ(kinds.size(), kEnumNames<ObjectiveKind>.size());
  std::set<std::string> names, fingerprints;
  for (const auto& [kind, kind_name] : kEnumNames<ObjectiveKind>) {
    for (const auto& [option, value] : default_numbers(kind)) {
      EXPECT_TRUE(names.insert(std::string(option.name)).second) << option.name;
      EXPECT_TRUE(value >= option.min && value <= option.max) << option.name;
    }
    const auto made = make_objective({.kind = kind, .numbers = {}}, kObjectiveVocabulary);
    EXPECT_EQ(made->kind(), kind);
    EXPECT_TRUE(fingerprints.insert(made->fingerprint()).second) << kind_name;
  }
}

}  // namespace
}  // namespace convseq
