#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <unordered_map>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/data/synth/baselines.h"
#include "convseq/data/synth/family/compositional.h"
#include "convseq/data/synth/grammar/clause.h"
#include "convseq/data/synth/grammar/lexicon.h"
#include "convseq/data/synth/grammar/words.h"
#include "convseq/data/synth/suite.h"
#include "temp_folder.h"

namespace convseq::synth {
using convseq::testing::message_of;

namespace {

constexpr SplitSizes kSizes{.train = 800, .validation = 200, .test = 400};

struct Made {
  std::unique_ptr<TaskFamily> family;
  TaskData data;
};

std::vector<Made> make_tasks(const SuiteOptions& options) {
  std::vector<Made> made;
  for (auto& family : make_families(options)) {
    TaskData data = draw_task(*family, {.sizes = options.sizes, .seed = options.seed});
    made.push_back({std::move(family), std::move(data)});
  }
  return made;
}

// Every family, from the easiest difficulty to hard ones.
const std::vector<Made>& all_tasks() {
  static const std::vector<Made> made = make_tasks({.seed = 5,
                                                    .sizes = kSizes,
                                                    .sentences = 2,
                                                    .windows = {0, 1, 5},
                                                    .distances = {1, 2, 3, 17, 200},
                                                    .depth = 1,
                                                    .places = 1,
                                                    .comparisons = {1, 2, 5, 30},
                                                    .facts = {2, 6}});
  return made;
}

std::vector<Made> tasks_of(Family family) {
  return make_tasks({.seed = 9, .families = {family}, .sizes = kSizes});
}

using Counts = std::map<std::string, int64_t>;

// For each value of key(example), how often each target goes with it.
template <class Key>
std::unordered_map<std::string, Counts> targets_by(const std::vector<Example>& examples, Key key) {
  std::unordered_map<std::string, Counts> counts;
  for (const Example& example : examples) ++counts[key(example)][example.target];
  return counts;
}

// What is known tells nothing: all `targets` go with it, equally often.
void expect_uniform(const Counts& counts, size_t targets, const std::string& known) {
  EXPECT_EQ(counts.size(), targets) << known;
  for (const auto& [target, count] : counts) {
    EXPECT_EQ(count, counts.begin()->second) << known << " -> " << target;
  }
}

std::string sorted_words(const Example& example) {
  auto words = words_of(example.inputs[0].text);
  std::sort(words.begin(), words.end());
  return fmt::format("{}", fmt::join(words, " "));
}

Baseline baseline_of(const Made& made, const std::string& category = "") {
  for (const Baseline& row : measure_baselines(*made.family, made.data)) {
    if (row.split == Split::Test && row.category == category) return row;
  }
  throw std::logic_error("no such baseline");
}

}  // namespace

TEST(EveryFamily, IsSolvedByItsOracleFromTheTextAlone) {
  for (const Made& made : all_tasks()) {
    for (const auto& [split, examples] : made.data.splits) {
      for (const Example& example : examples) {
        ASSERT_EQ(made.family->solve(example.inputs), example.target)
            << made.data.description.name << ": " << example.inputs[0].text;
      }
    }
  }
}

TEST(EveryFamily, HasNoTextOnTwoSides) {
  for (const Made& made : all_tasks()) {
    std::unordered_map<std::string, Split> side;
    for (const auto& [split, examples] : made.data.splits) {
      for (const Example& example : examples) {
        for (const Input& input : example.inputs) {
          if (input.field == "question") continue;  // there are few questions; the contexts differ
          const auto [found, is_new] = side.try_emplace(input.text, split);
          ASSERT_EQ(found->second, split) << made.data.description.name << ": " << input.text;
        }
      }
    }
  }
}

TEST(EveryFamily, HasNoTwoExamplesWithOneSource) {
  for (const Made& made : all_tasks()) {
    std::set<std::string> sources;
    size_t examples_in_all = 0;
    for (const auto& [split, examples] : made.data.splits) {
      examples_in_all += examples.size();
      for (const Example& example : examples) {
        std::string source;
        for (const Input& input : example.inputs) source += input.text + "\n";
        sources.insert(source);
      }
    }
    EXPECT_EQ(sources.size(), examples_in_all) << made.data.description.name;
  }
}

TEST(EveryFamily, HasEveryLabelEquallyOften) {
  for (const Made& made : all_tasks()) {
    const auto& labels = made.data.description.labels;
    if (labels.empty()) continue;
    for (const auto& [split, examples] : made.data.splits) {
      const auto counts = targets_by(examples, [](const Example&) { return "all"; });
      expect_uniform(counts.at("all"), labels.size(), made.data.description.name);
    }
  }
}

TEST(EveryFamily, IsAFunctionOfItsSeed) {
  const auto first_text = [](uint64_t seed) {
    std::string text;
    for (const Made& made :
         make_tasks({.seed = seed, .sizes = {.train = 40, .validation = 8, .test = 8}})) {
      for (const auto& [split, examples] : made.data.splits) {
        for (const Example& example : examples) text += example.inputs[0].text + example.target;
      }
    }
    return text;
  };
  EXPECT_EQ(first_text(1), first_text(1));
  EXPECT_NE(first_text(1), first_text(2));
}

TEST(CheckNoLeaks, FindsATextOnTwoSides) {
  TaskData data = tasks_of(Family::Lexical).front().data;
  data.splits[Split::Test].push_back(data.splits[Split::Train].front());
  EXPECT_NE(
      message_of<std::logic_error>([&] { check_no_leaks(data); }).find("in train and in test"),
      std::string::npos);
}

TEST(Lexical, IsEasyForABagOfWordsUnlessTheWordsAreHidden) {
  const auto made = tasks_of(Family::Lexical);
  EXPECT_GT(baseline_of(made[0], "shown words").bag_of_words, 0.95);
  EXPECT_EQ(baseline_of(made[0], "hidden words").bag_of_words, 0.5);
  const auto all_shown =
      make_tasks({.families = {Family::Lexical}, .sizes = kSizes, .shown_share = 1.0});
  EXPECT_GT(baseline_of(all_shown[0]).bag_of_words, 0.95);
}

TEST(Lexical, HidesWordsFromTheTrainingSet) {
  for (Family family : {Family::Lexical, Family::Scope}) {
    for (const Made& made : tasks_of(family)) {
      std::set<std::string> shown;
      const auto polar = [](const Example& example) {
        for (std::string_view word : words_of(example.inputs[0].text)) {
          if (polarity_of(word)) return std::string(word);
        }
        return std::string();
      };
      for (const Example& example : made.data.splits.at(Split::Train)) shown.insert(polar(example));
      for (Split split : {Split::Validation, Split::Test}) {
        for (const Example& example : made.data.splits.at(split)) {
          if (example.category == "hidden words") {
            EXPECT_FALSE(shown.contains(polar(example))) << polar(example);
          }
        }
      }
    }
  }
}

TEST(Scope, CannotBeToldFromTheWordsInAnyOrder) {
  for (const Made& made : tasks_of(Family::Scope)) {
    for (const auto& [split, examples] : made.data.splits) {
      for (const auto& [words, counts] : targets_by(examples, sorted_words)) {
        expect_uniform(counts, 4, words);
      }
    }
    EXPECT_EQ(baseline_of(made).bag_of_words, 0.25);
  }
}

TEST(LongRange, PutsTheDecidingWordsExactlyAsFarApartAsAsked) {
  for (int64_t distance : {1, 2, 3, 4, 50, 1000}) {
    const auto made = make_tasks({.families = {Family::LongRange},
                                  .sizes = {.train = 8, .validation = 4, .test = 4},
                                  .distances = {distance}});
    for (const Example& example : made[0].data.splits.at(Split::Train)) {
      std::vector<size_t> at;
      const auto words = words_of(example.inputs[0].text);
      for (size_t i = 0; i < words.size(); ++i) {
        if (polarity_of(words[i])) at.push_back(i);
      }
      ASSERT_EQ(at.size(), 2u) << example.inputs[0].text;
      EXPECT_EQ(static_cast<int64_t>(at[1] - at[0]), distance);
    }
  }
}

TEST(LongRange, CannotBeToldFromEitherEnd) {
  for (const Made& made : tasks_of(Family::LongRange)) {
    const auto without_word = [](const Example& example, bool first) {
      std::string text = example.inputs[0].text;
      const auto words = words_of(text);
      std::vector<std::string_view> polar;
      std::copy_if(words.begin(), words.end(), std::back_inserter(polar), polarity_of);
      const std::string_view gone = first ? polar.front() : polar.back();
      return std::string(text).erase(static_cast<size_t>(gone.data() - text.data()), gone.size());
    };
    for (const auto& [split, examples] : made.data.splits) {
      for (bool first : {true, false}) {
        const auto rest = targets_by(
            examples, [&](const Example& example) { return without_word(example, first); });
        for (const auto& [text, counts] : rest) expect_uniform(counts, 2, text);
      }
    }
    EXPECT_EQ(baseline_of(made).bag_of_words, 0.5);
  }
}

// Whatever each end adds to the score of "same", the mean log loss is that of guessing or worse.
TEST(LongRange, DefiesEverySumOfWhatTheTwoEndsSay) {
  const auto made = tasks_of(Family::LongRange);
  const auto& examples = made[0].data.splits.at(Split::Test);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::map<std::string, double> weights;
    Random random(seed);
    double loss = 0;
    for (const Example& example : examples) {
      double score = 0;
      std::string place = "first ";
      for (std::string_view word : words_of(example.inputs[0].text)) {
        if (!polarity_of(word)) continue;
        score += weights.try_emplace(place + std::string(word), random.normal()).first->second;
        place = "last ";
      }
      loss += std::log1p(std::exp(example.target == "same" ? -score : score));
    }
    EXPECT_GE(loss / static_cast<double>(examples.size()), std::log(2.0) - 1e-9);
  }
}

TEST(Pair, CannotBeToldFromPremiseOrHypothesisAlone) {
  for (const Made& made : tasks_of(Family::Pair)) {
    for (const auto& [split, examples] : made.data.splits) {
      for (size_t input : {0, 1}) {
        const auto counts = targets_by(
            examples, [&](const Example& example) { return example.inputs[input].text; });
        for (const auto& [text, known] : counts) expect_uniform(known, 2, text);
      }
    }
    const Baseline baseline = baseline_of(made);
    EXPECT_EQ(baseline.bag_of_words, 0.5);
    EXPECT_EQ(baseline.one_input.at("premise"), 0.5);
    EXPECT_EQ(baseline.one_input.at("hypothesis"), 0.5);
  }
}

TEST(Pair, DiffersInOneFactAtMost) {
  const auto made = make_tasks({.families = {Family::Pair}, .sizes = kSizes, .comparisons = {4}});
  for (const Example& example : made[0].data.splits.at(Split::Train)) {
    const auto colours = [](const std::string& text) {
      std::multiset<std::string_view> found;
      for (std::string_view word : words_of(text)) {
        if (contains(kColours, word)) found.insert(word);
      }
      return found;
    };
    const auto premise = colours(example.inputs[0].text);
    const auto hypothesis = colours(example.inputs[1].text);
    std::vector<std::string_view> changed;
    std::set_difference(premise.begin(), premise.end(), hypothesis.begin(), hypothesis.end(),
                        std::back_inserter(changed));
    EXPECT_EQ(premise.size(), 4u);
    EXPECT_EQ(changed.size(), example.target == "yes" ? 0u : 1u);
  }
}

TEST(SpanAnswer, StandsInItsContextAndCannotBeToldFromTheContext) {
  for (const Made& made : tasks_of(Family::Span)) {
    for (const auto& [split, examples] : made.data.splits) {
      for (const Example& example : examples) {
        EXPECT_NE(example.inputs[0].text.find(example.target), std::string::npos);
      }
      const auto counts =
          targets_by(examples, [](const Example& example) { return example.inputs[0].text; });
      for (const auto& [context, answers] : counts) expect_uniform(answers, 2, context);
    }
    EXPECT_LT(baseline_of(made).bag_of_words, 0.05);
  }
}

TEST(Compositional, ShowsInTrainingNothingThatGeneralisationTries) {
  const CompositionalOptions options{.depth = 2, .places = 2};
  const Compositional family(options);
  const TaskData data = draw_task(family, {.sizes = kSizes, .seed = 3});
  Counts categories;
  for (const auto& [split, examples] : data.splits) {
    for (const Example& example : examples) {
      const auto clause = parse_clause(example.inputs[0].text);  // parsed from the text
      ASSERT_TRUE(clause);
      const auto novelties = family.novelties_of(*clause);
      if (split == Split::Generalisation) {
        ASSERT_EQ(novelties.size(), 1u) << example.inputs[0].text;
        EXPECT_EQ(name_of(novelties[0]), example.category);
        ++categories[example.category];
      } else {
        ASSERT_TRUE(novelties.empty()) << example.inputs[0].text;
      }
    }
  }
  EXPECT_EQ(categories.size(), kEnumNames<Novelty>.size());
  for (const auto& [category, count] : categories) EXPECT_GE(count, 400 / 7) << category;
}

TEST(Compositional, ShowsInTrainingEveryWordThatGeneralisationUses) {
  const TaskData data = draw_task(Compositional({}), {.seed = 3});
  std::set<std::string> seen;
  for (const Example& example : data.splits.at(Split::Train)) {
    for (std::string_view word : words_of(example.inputs[0].text)) seen.emplace(word);
  }
  for (const Example& example : data.splits.at(Split::Generalisation)) {
    for (std::string_view word : words_of(example.inputs[0].text)) {
      EXPECT_TRUE(seen.contains(std::string(word))) << word;
    }
  }
}

TEST(Difficulty, IsRefusedWhereItCannotBe) {
  const auto message = [](const SuiteOptions& options) {
    return message_of<Error>([&] { make_tasks(options); });
  };
  EXPECT_EQ(message({.comparisons = {31}}),
            "comparisons has 31; allowed: 1 to 30, one person each");
  EXPECT_EQ(message({.comparisons = {0}}), "comparisons has 0; allowed: 1 to 30, one person each");
  EXPECT_EQ(message({.facts = {1}}), "facts has 1; allowed: 2 to 30, one person each");
  EXPECT_EQ(message({.distances = {0}}), "distances has 0; allowed: 1 or more");
  EXPECT_EQ(message({.cue_words = 53}),
            "cue_words is 53; allowed: 1 to 52, the words of one polarity");
  EXPECT_EQ(message({.shown_share = 0}), "shown_share is 0; allowed: over 0, up to 1");
  EXPECT_EQ(message({.windows = {-1}}), "windows has -1; allowed: 0 or more");
  EXPECT_EQ(message({.sentences = -1}), "sentences is -1; allowed: 0 or more");
  EXPECT_EQ(message({.depth = -1}), "depth is -1; allowed: 0 or more");
  EXPECT_EQ(message({.sizes = {.train = 0}}), "train is 0; allowed: 1 or more");
}

TEST(Difficulty, SaysWhenThereAreNotEnoughDifferentExamples) {
  const std::string message = message_of<Error>([] {
    make_tasks({.families = {Family::Pair}, .sizes = {.train = 100'000}, .comparisons = {1}});
  });
  EXPECT_EQ(message.find("pair_1: found only "), 0u) << message;
  EXPECT_NE(message.find(" different train examples of 100000; ask for fewer"), std::string::npos)
      << message;
}

TEST(Difficulty, AtItsLowestStillMakesATask) {
  const auto made = make_tasks({.sizes = {.train = 1, .validation = 1, .test = 1},
                                .sentences = 0,
                                .windows = {0},
                                .distances = {1},
                                .cue_words = 1,
                                .depth = 0,
                                .places = 0,
                                .comparisons = {1},
                                .facts = {2}});
  EXPECT_EQ(made.size(), 6u);
  for (const Made& each : made) EXPECT_EQ(baseline_of(each).oracle, 1.0);
}

}  // namespace convseq::synth
