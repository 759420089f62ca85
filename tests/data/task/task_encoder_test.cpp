#include "convseq/data/task/task_encoder.h"

#include <gtest/gtest.h>

#include "convseq/base/random.h"
#include "convseq/text/tokenizer_trainer.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

const std::vector<std::string> kWords = {"river", "stone", "winter", "people", "slowly", "bridge"};

std::string some_words(Random& random, uint64_t most) {
  std::string text;
  for (uint64_t n = random.below(most + 1); n > 0; --n) {
    text += (text.empty() ? "" : " ") + kWords[random.below(kWords.size())];
    if (random.below(20) == 0) text += " é漢😀" + std::string(30, 'x');  // bytes, and one long word
  }
  return text;
}

Tokenizer small_tokenizer() {
  Random random(2);
  std::vector<std::string> sentences;
  for (int i = 0; i < 200; ++i)
    sentences.push_back("premise: hypothesis: so " + some_words(random, 9));
  TempFolder folder;
  write_tokenizer_folder(folder / "t",
                         train_tokenizer(sentences, {.kind = TokenizerKind::Bpe, .pieces = 330}));
  return Tokenizer::load(folder / "t");
}

TaskExample pair(const Task& task, const std::string& premise, const std::string& hypothesis) {
  Row row;
  row.add("premise", premise);
  row.add("hypothesis", hypothesis);
  return {.source = task.source.render(row), .target = "yes", .answers = {"yes"}, .category = ""};
}

Task pair_task(const std::string& cut, int64_t max_source_tokens) {
  Task task =
      ad_hoc_task("premise: {premise} hypothesis: {hypothesis}", "{label}", {{"all", {"x"}}});
  task.cut = cut;
  task.max_source_tokens = max_source_tokens;
  return task;
}

std::string repeated(const std::string& word, int count) {
  std::string text = word;
  for (int i = 1; i < count; ++i) text += " " + word;
  return text;
}

RowTotals cut_by(const TaskEncoder& encoder) {
  RowTotals totals;
  encoder.add_to(totals);
  return totals;
}

}  // namespace

TEST(TaskEncoder, ClosesBothSidesWithAnEos) {
  const Tokenizer tokenizer = small_tokenizer();
  const Task task = pair_task("", 100);
  TaskEncoder encoder(task, tokenizer);
  const TaskExample example = pair(task, "river", "stone");
  const Example ids = encoder.encode(example);
  std::vector<int32_t> expected = tokenizer.encode(example.source.text);
  expected.push_back(Vocabulary::kEos);
  EXPECT_EQ(ids.source, expected);
  EXPECT_EQ(ids.target.back(), Vocabulary::kEos);
  EXPECT_EQ(cut_by(encoder), RowTotals());
}

TEST(TaskEncoder, NeverExceedsTheLimitAndCountsWhatItCut) {
  const Tokenizer tokenizer = small_tokenizer();
  Random random(4);
  for (const std::string cut : {"", "premise", "hypothesis"}) {
    for (const int64_t limit : {2, 3, 8, 20, 50}) {
      const Task task = pair_task(cut, limit);
      TaskEncoder encoder(task, tokenizer);
      int64_t too_long = 0;
      for (int i = 0; i < 100; ++i) {
        const TaskExample example = pair(task, some_words(random, 40), some_words(random, 10));
        const int64_t whole =
            static_cast<int64_t>(tokenizer.encode(example.source.text).size()) + 1;
        const auto length = static_cast<int64_t>(encoder.encode(example).source.size());
        too_long += whole > limit;
        EXPECT_LE(length, limit);
        EXPECT_EQ(encoder.encode_source(example.source).tokens_cut, whole - length);
        if (whole <= limit) {
          EXPECT_EQ(length, whole);
        }
      }
      EXPECT_EQ(cut_by(encoder).sources_cut, too_long);
    }
  }
}

TEST(TaskEncoder, CutsTheNamedFieldAndKeepsTheOther) {
  const Tokenizer tokenizer = small_tokenizer();
  const std::string hypothesis = repeated("stone", 12);
  // Room for ten rivers, however many pieces this tokenizer makes of a word.
  const std::string fits = "premise: " + repeated("river", 10) + " hypothesis: " + hypothesis;
  const auto room = static_cast<int64_t>(tokenizer.encode(fits).size()) + 1;
  const Task task = pair_task("premise", room);
  TaskEncoder encoder(task, tokenizer);
  const Example ids = encoder.encode(pair(task, repeated("river", 50), hypothesis));
  EXPECT_EQ(tokenizer.decode(ids.source), fits);
}

TEST(TaskEncoder, CutsTheLongestFieldWhereNoneIsNamed) {
  const Tokenizer tokenizer = small_tokenizer();
  const Task task = pair_task("", 40);
  TaskEncoder encoder(task, tokenizer);
  const std::string text =
      tokenizer.decode(encoder.encode(pair(task, "river", repeated("stone", 60))).source);
  EXPECT_EQ(text.find("premise: river hypothesis: stone stone"), 0u) << text;
}

TEST(TaskEncoder, GoesOnWithTheOtherFieldWhereTheNamedOneIsUsedUp) {
  const Tokenizer tokenizer = small_tokenizer();
  const Task task = pair_task("premise", 30);
  TaskEncoder encoder(task, tokenizer);
  const Example ids = encoder.encode(pair(task, "river", repeated("stone", 60)));
  const std::string text = tokenizer.decode(ids.source);
  EXPECT_EQ(text.find("premise: hypothesis: stone stone"), 0u) << text;
  EXPECT_EQ(ids.source.size(), 30u);
}

TEST(TaskEncoder, AnEnormousTextIsCutAsALongOneAndItsTokensAreCounted) {
  const Tokenizer tokenizer = small_tokenizer();
  const Task task = pair_task("premise", 40);
  const TaskEncoder encoder(task, tokenizer);
  const auto source_of = [&](int words) {
    return encoder.encode_source(pair(task, repeated("é漢 river", words), "so").source);
  };
  const auto longer = source_of(1'000), enormous = source_of(100'000);  // 12 kB and 1.2 MB
  EXPECT_EQ(enormous.ids, longer.ids);
  EXPECT_NEAR(static_cast<double>(enormous.tokens_cut) / static_cast<double>(longer.tokens_cut),
              100.0, 4.0);
}

TEST(TaskEncoder, LabelsThatWouldBeCutAreRefusedByName) {
  Task task = ad_hoc_task("{text}", "{label}", {{"all", {"a.csv"}}});
  task.max_target_tokens = 2;
  const Tokenizer tokenizer = small_tokenizer();
  const auto tokens = tokenizer.encode("unanswerable").size() + 1;
  ASSERT_GT(tokens, 3u);
  task.labels = {"unanswerable"};
  EXPECT_EQ(message_of<Error>([&] { require_labels_fit(task, tokenizer); }),
            fmt::format("a.csv: the label \"unanswerable\" has {0} tokens and max_target_tokens is "
                        "2; use max_target_tokens={0} or a tokenizer with more pieces",
                        tokens));
  task.max_target_tokens = static_cast<int64_t>(tokens);
  require_labels_fit(task, tokenizer);
}

TEST(TaskEncoder, CutsLongTargetsAndCountsThem) {
  const Tokenizer tokenizer = small_tokenizer();
  Task task = pair_task("", 100);
  task.max_target_tokens = 4;
  TaskEncoder encoder(task, tokenizer);
  TaskExample example = pair(task, "a", "b");
  example.target = repeated("stone", 20);
  const Example ids = encoder.encode(example);
  EXPECT_EQ(ids.target.size(), 4u);
  EXPECT_EQ(ids.target.back(), Vocabulary::kEos);
  RowTotals totals{.rows = 1};
  encoder.add_to(totals);
  EXPECT_EQ(totals, (RowTotals{.rows = 1, .targets_cut = 1}));
}

}  // namespace convseq
