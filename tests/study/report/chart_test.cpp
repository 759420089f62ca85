#include "convseq/study/report/chart.h"

#include <gtest/gtest.h>

#include "report_fixture.h"

namespace convseq::report {
namespace {

int64_t count_of(const std::string& text, const std::string& what) {
  int64_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST(ReportChart, DrawsEveryMeanAndEverySeed) {
  IntervalChart chart{.x_label = "a < b", .series = {"light", "dynamic"}, .zero_line = true};
  chart.rows = {{"sst2", {{0, 1.5, {0.5, 2.5}, {1, 2}}, {1, -1, {-2, 0}, {-1, -1, -1}}}}};
  const std::string svg = draw(chart);
  EXPECT_TRUE(testing::balanced(svg));
  EXPECT_EQ(count_of(svg, "<circle"), 2 + 5 + 2);  // means, seeds, legend
  EXPECT_NE(svg.find("a &lt; b"), svg.npos);
}

TEST(ReportChart, OneValueAloneAndNoneAtAllHaveAxes) {
  for (const bool log : {false, true}) {
    LineChart chart{.x_label = "x", .y_label = "y", .log_x = log, .log_y = log};
    EXPECT_TRUE(testing::balanced(draw(chart)));
    chart.series = {{"one", {{8, 3}}}};
    const std::string svg = draw(chart);
    EXPECT_TRUE(testing::balanced(svg));
    EXPECT_EQ(svg.find("nan"), svg.npos);
    EXPECT_EQ(svg.find("inf"), svg.npos);
  }
}

TEST(ReportChart, LongLabelsWidenTheChart) {
  IntervalChart chart{.series = {"light"}};
  chart.rows = {{"sst2", {{0, 1, {0, 2}}}}};
  EXPECT_NE(draw(chart).find("width=\"860.0\""), std::string::npos);
  chart.rows[0].label = std::string(50, 'x');
  EXPECT_NE(draw(chart).find("width=\"1046.0\""), std::string::npos);
}

TEST(ReportChart, SeedsAreSmallPointsBesideTheMean) {
  LineChart chart{.x_label = "x", .y_label = "y"};
  chart.series = {{"light", {{1, 2, Interval{1, 3}, {1, 2, 3}}, {2, 3, Interval{2, 4}, {3}}}}};
  EXPECT_EQ(count_of(draw(chart), "<circle"), 2 + 4 + 1);  // means, seeds, legend
}

TEST(ReportChart, LinesJoinThePointsOfASeries) {
  const LineChart chart{.x_label = "length",
                        .y_label = "speed",
                        .series = {{"light", {{64, 10}, {128, 20}, {256, 40}}}},
                        .log_x = true,
                        .log_y = true};
  EXPECT_EQ(count_of(draw(chart), "<polyline"), 1);
}

}  // namespace convseq::report
