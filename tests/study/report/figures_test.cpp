#include "convseq/study/report/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convseq::report {

TEST(ReportFigures, RoundHalvesUpWhateverTheLastBitsAre) {
  EXPECT_EQ(fixed(84.25, 1), "84.3");
  EXPECT_EQ(fixed(std::nextafter(84.25, 0), 1), "84.3");
  EXPECT_EQ(fixed(84.2499, 1), "84.2");
  EXPECT_EQ(fixed(-0.26, 1), "−0.3");
  EXPECT_EQ(fixed(-0.04, 1), "0.0");
  EXPECT_EQ(fixed(std::numeric_limits<double>::quiet_NaN(), 1), kMissing);
  EXPECT_EQ(with_sign(1.25, 1), "+1.3");
  EXPECT_EQ(with_sign(0.01, 1), "0.0");
  EXPECT_EQ(grouped(600'000'000), "600,000,000");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(short_count(600'046'304), "600M");
  EXPECT_EQ(short_count(2'047'946), "2.0M");
  EXPECT_EQ(short_count(999), "999");
}

TEST(ReportFigures, WorkHasAUnitInWhichItIsNotZero) {
  EXPECT_STREQ(work_unit(2.4e16).name, "PFLOP");
  EXPECT_STREQ(work_unit(3e12).name, "TFLOP");
  EXPECT_STREQ(work_unit(0).name, "GFLOP");
}

TEST(ReportFigures, AnIntervalWiderThanTheScaleIsNotPrinted) {
  const Estimate wide{
      .value = 0.414, .interval = {-3.2, 4}, .counts_runs = true, .counts_examples = false};
  EXPECT_EQ(text_of(Figure{.estimate = wide, .runs = 2, .pretrainings = 1}), "41.4 ± >50 (2/1) °");
}

TEST(ReportFigures, SayWhatTheIntervalCounts) {
  Estimate estimate{
      .value = 0.843, .interval = {0.831, 0.855}, .counts_runs = true, .counts_examples = true};
  EXPECT_EQ(text_of(Figure{.estimate = estimate, .runs = 6, .pretrainings = 3}),
            "84.3 ± 1.2 (6/3)");
  EXPECT_EQ(text_of(Figure{.estimate = estimate, .runs = 4, .collapsed = 1}), "84.3 ± 1.2 (4) †1");
  estimate.counts_runs = false;
  EXPECT_EQ(text_of(Figure{.estimate = estimate, .runs = 1}), "84.3 ± 1.2 (1) ‡");
  estimate.counts_examples = false;
  EXPECT_EQ(text_of(Figure{.estimate = estimate, .runs = 1}), "84.3 ± – (1) ‡ °");
}

TEST(ReportFigures, ADifferenceSaysWhatItsIntervalDoesNotCount) {
  Estimate estimate{.value = 0.01, .interval = {0, 0.02}, .counts_examples = true};
  EXPECT_EQ(difference_text(estimate), "+1.0 ± 1.0 ‡");
  estimate.counts_runs = true;
  EXPECT_EQ(difference_text(estimate), "+1.0 ± 1.0");
  EXPECT_EQ(share_text(estimate), "1.0 ± 1.0");
}

TEST(ReportFigures, AFindingNeedsAnIntervalThatExcludesZero) {
  const auto finding = [](double low, double high) {
    return text_of(finding_of({.interval = {low, high}, .counts_runs = true}));
  };
  EXPECT_EQ(finding(0.01, 0.03), "higher");
  EXPECT_EQ(finding(-0.03, -0.01), "lower");
  EXPECT_EQ(finding(-0.01, 0.03), "undecided");
  EXPECT_EQ(finding_of({.interval = {0.1, 0.1}}), Finding::Undecided);  // nothing was counted
}

}  // namespace convseq::report
