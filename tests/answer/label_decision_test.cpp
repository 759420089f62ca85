#include "convseq/answer/label_decision.h"

#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
namespace {

const std::vector<std::string> kLabels = {"clean", "rude", "toxic"};
const std::vector<double> kScores = {1.0, -0.5, 0.8};
using Chosen = std::vector<size_t>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST(LabelDecision, SingleIsTheLikeliestBySoftmax) {
  const LabelAnswer answer = LabelDecision(LabelKind::Single, kLabels).decide(kScores);
  const double sum = std::exp(1.0) + std::exp(-0.5) + std::exp(0.8);
  EXPECT_NEAR(answer.probabilities[2], std::exp(0.8) / sum, 1e-12);
  EXPECT_EQ(answer.chosen, Chosen{0});
}

TEST(LabelDecision, SingleWithAThresholdTakesThatLabelOrTheLikeliestOther) {
  const auto chosen = [](double threshold) {
    const LabelDecision decision(LabelKind::Single, kLabels,
                                 {.thresholds = {{"toxic", threshold}}});
    return decision.decide(kScores).chosen;
  };
  EXPECT_EQ(chosen(0.3), Chosen{2});
  EXPECT_EQ(chosen(0.9), Chosen{0});
}

TEST(LabelDecision, MultiTakesEveryLabelThatReachesItsThreshold) {
  const LabelAnswer answer = LabelDecision(LabelKind::Multi, kLabels).decide(kScores);
  EXPECT_NEAR(answer.probabilities[1], sigmoid(-0.5), 1e-12);
  EXPECT_EQ(answer.chosen, (Chosen{0, 2}));
  const LabelDecision other(LabelKind::Multi, kLabels,
                            {.thresholds = {{"clean", 0.9}, {"rude", 0.2}, {"toxic", 0.99}}});
  EXPECT_EQ(other.decide(kScores).chosen, Chosen{1});
  EXPECT_EQ(other.text_of(answer), "clean, toxic");
  EXPECT_EQ(LabelDecision(LabelKind::Multi, kLabels).decide(std::vector{-1.0, -1.0, -1.0}).chosen,
            Chosen{});
}

TEST(LabelDecision, TemperatureDividesTheScores) {
  const LabelAnswer single =
      LabelDecision(LabelKind::Single, kLabels, {.temperature = 2}).decide(kScores);
  EXPECT_NEAR(single.probabilities[0] / single.probabilities[1], std::exp(0.75), 1e-12);
  const LabelAnswer multi =
      LabelDecision(LabelKind::Multi, kLabels, {.temperature = 2}).decide(kScores);
  EXPECT_NEAR(multi.probabilities[0], sigmoid(0.5), 1e-12);
}

TEST(LabelDecision, LargeScoresGiveProbabilities) {
  const std::vector<double> scores = {1e4, -1e4, 9e3};
  const auto single = LabelDecision(LabelKind::Single, kLabels).decide(scores);
  EXPECT_EQ(single.probabilities, (std::vector<double>{1, 0, 0}));
  const auto multi = LabelDecision(LabelKind::Multi, kLabels).decide(scores);
  EXPECT_EQ(multi.probabilities, (std::vector<double>{1, 0, 1}));
}

TEST(LabelDecision, RefusesThresholdsThatItCannotUse) {
  EXPECT_THROW(LabelDecision(LabelKind::Multi, kLabels, {.thresholds = {{"spam", 0.5}}}), Error);
  EXPECT_THROW(
      LabelDecision(LabelKind::Single, kLabels, {.thresholds = {{"rude", 0.5}, {"toxic", 0.5}}}),
      Error);
}

TEST(Calibration, IsReadAsItWasSaved) {
  const testing::TempFolder folder;
  EXPECT_EQ(Calibration::load(folder.path()), Calibration{});
  const Calibration calibration{.temperature = 1.37,
                                .thresholds = {{"rude", 0.1}, {"toxic", 0.123456789012345678}},
                                .fitted = {{"split", "validation"}}};
  calibration.save(folder.path());
  EXPECT_EQ(Calibration::load(folder.path()), calibration);
}

TEST(Calibration, RefusesWhatIsNoTemperatureOrThreshold) {
  const auto read = [](const char* text) {
    return Calibration::from_json({parse_json(text), "calibration.json"});
  };
  EXPECT_THROW(read(R"({"temperature": 0})"), Error);
  EXPECT_THROW(read(R"({"thresholds": {"toxic": 1.5}})"), Error);
  EXPECT_THROW(read(R"({"treshold": 1})"), Error);
}

}  // namespace convseq
