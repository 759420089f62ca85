#include "convseq/answer/predict/prediction_format.h"

#include <gtest/gtest.h>

namespace convseq {
namespace {

const LabelDecision kSingle(LabelKind::Single, {"no", "yes"});
const LabelDecision kMulti(LabelKind::Multi, {"rude", "spam", "threat"});

Prediction single() { return {.row = 7, .answer = {.probabilities = {0.25, 0.75}, .chosen = {1}}}; }
Prediction multi() {
  return {.row = 8, .answer = {.probabilities = {0.9, 0.125, 0.95}, .chosen = {0, 2}}};
}
Prediction bad() { return {.row = 9, .error = "a.txt:9: not\tUTF-8"}; }

std::string line_of(PredictionForm form, const LabelDecision* decision, const Prediction& each,
                    int64_t top = 0) {
  const PredictionFormat format({.form = form, .decision = decision, .top = top});
  return format.header() + format.line(each);
}

}  // namespace

TEST(PredictionFormat, JsonNamesTheLabelAndEveryProbability) {
  const auto json = PredictionForm::JsonLines;
  EXPECT_EQ(line_of(json, &kSingle, single()),
            "{\"row\":7,\"label\":\"yes\",\"probability\":0.75,"
            "\"probabilities\":{\"no\":0.25,\"yes\":0.75}}\n");
  EXPECT_EQ(
      line_of(json, &kSingle, single(), 1),
      "{\"row\":7,\"label\":\"yes\",\"probability\":0.75,\"probabilities\":{\"yes\":0.75}}\n");
  EXPECT_EQ(line_of(json, &kMulti, multi(), 2),
            "{\"row\":8,\"labels\":[\"rude\",\"threat\"],"
            "\"probabilities\":{\"threat\":0.95,\"rude\":0.9}}\n");
  EXPECT_EQ(line_of(json, &kSingle, bad()), "{\"row\":9,\"error\":\"a.txt:9: not\\tUTF-8\"}\n");
}

TEST(PredictionFormat, JsonHasTextThatIsNoUtf8Replaced) {
  EXPECT_EQ(line_of(PredictionForm::JsonLines, nullptr,
                    {.row = 1, .text = "a\n\"b\xFF", .tokens_cut = 3}),
            "{\"row\":1,\"text\":\"a\\n\\\"b\xEF\xBF\xBD\",\"tokens_cut\":3}\n");
}

TEST(PredictionFormat, FilledTextStandsBesideTheSpans) {
  const Prediction filled{.row = 1, .text = "<extra_id_0> b", .filled = "a b c"};
  const Prediction without{.row = 2, .text = "b"};
  const auto lines = [&](PredictionForm form) {
    const PredictionFormat format({.form = form, .fills_spans = true});
    return format.header() + format.line(filled) + format.line(without);
  };
  EXPECT_EQ(lines(PredictionForm::JsonLines),
            "{\"row\":1,\"text\":\"<extra_id_0> b\",\"filled\":\"a b c\"}\n"
            "{\"row\":2,\"text\":\"b\"}\n");
  EXPECT_EQ(lines(PredictionForm::Tsv),
            "row\ttext\tfilled\ttokens_cut\terror\n"
            "1\t<extra_id_0> b\ta b c\t0\t\n2\tb\t\t0\t\n");
  EXPECT_EQ(lines(PredictionForm::Labels), "a b c\nb\n");
}

TEST(PredictionFormat, TsvHasTheSameColumnsInEveryLine) {
  const auto tsv = PredictionForm::Tsv;
  EXPECT_EQ(line_of(tsv, &kSingle, single()),
            "row\tlabel\tno\tyes\ttokens_cut\terror\n7\tyes\t0.250000\t0.750000\t0\t\n");
  EXPECT_EQ(line_of(tsv, &kMulti, multi(), 1),
            "row\tlabels\tlabel_1\tprobability_1\ttokens_cut\terror\n"
            "8\trude, threat\tthreat\t0.950000\t0\t\n");
  EXPECT_EQ(line_of(tsv, nullptr, {.row = 1, .text = "a\tb\nc"}),
            "row\ttext\ttokens_cut\terror\n1\ta b c\t0\t\n");
  for (const LabelDecision* decision : {&kSingle, &kMulti}) {
    for (const int64_t top : {0, 1, 9}) {
      const std::string lines = line_of(tsv, decision, bad(), top);
      const auto first_end = lines.begin() + static_cast<std::ptrdiff_t>(lines.find('\n'));
      EXPECT_EQ(std::count(lines.begin(), first_end, '\t'),
                std::count(first_end, lines.end(), '\t'))
          << lines;
    }
  }
}

TEST(PredictionFormat, LabelsAreOneLinePerRow) {
  const auto labels = PredictionForm::Labels;
  EXPECT_EQ(line_of(labels, &kSingle, single()), "yes\n");
  EXPECT_EQ(line_of(labels, &kMulti, multi()), "rude, threat\n");
  EXPECT_EQ(line_of(labels, &kSingle, bad()), "\n");
  EXPECT_EQ(line_of(labels, nullptr, {.row = 1, .text = "two\nlines"}), "two lines\n");
}

}  // namespace convseq
