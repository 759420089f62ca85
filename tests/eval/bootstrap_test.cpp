#include "convseq/eval/bootstrap.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

namespace {

Statistic mean_of(std::vector<double> values) {
  return [values](Sample sample) {
    double sum = 0;
    for (uint32_t example : sample) sum += values[example];
    return sum / static_cast<double>(sample.size());
  };
}

std::vector<double> coin_tosses(double probability, size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<double> tosses(count);
  for (double& toss : tosses) toss = random.uniform() < probability;
  return tosses;
}

}  // namespace

TEST(Bootstrap, IntervalHoldsTheTruthAboutAsOftenAsItSays) {
  int held = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<uint64_t>(trial);
    const Statistic mean = mean_of(coin_tosses(0.7, 200, seed));
    const Interval interval = bootstrap_intervals({mean}, 200, {.resamples = 300, .seed = seed})[0];
    held += interval.low <= 0.7 && 0.7 <= interval.high;
  }
  EXPECT_NEAR(static_cast<double>(held) / trials, 0.95, 0.025);
}

TEST(Bootstrap, WidthIsThatOfTheNormalApproximation) {
  // 2 · 1.96 · sqrt(p(1-p)/n)
  const auto tosses = coin_tosses(0.5, 2000, 1);
  const Interval interval = bootstrap_intervals({mean_of(tosses)}, tosses.size(), {})[0];
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * std::sqrt(0.25 / 2000), 0.004);
}

TEST(Bootstrap, SameSeedGivesTheSameIntervalWhateverElseIsComputed) {
  const auto tosses = coin_tosses(0.5, 100, 1);
  const Statistic mean = mean_of(tosses), other = [](Sample) { return 3.0; };
  const auto alone = bootstrap_intervals({mean}, 100, {.seed = 5});
  const auto beside = bootstrap_intervals({other, mean}, 100, {.seed = 5});
  EXPECT_EQ(alone[0], beside[1]);
  EXPECT_EQ(beside[0], (Interval{3, 3}));
  EXPECT_NE(alone[0], bootstrap_intervals({mean}, 100, {.seed = 6})[0]);
}

TEST(Bootstrap, OneExampleHasNoSpread) {
  EXPECT_EQ(bootstrap_intervals({mean_of({0.25})}, 1, {})[0], (Interval{0.25, 0.25}));
}

TEST(Bootstrap, RefusesNothing) {
  EXPECT_EQ(message_of<Error>([] { bootstrap_intervals({}, 0, {}); }),
            "bootstrap: there is no example to draw from");
  EXPECT_EQ(message_of<Error>([] { bootstrap_intervals({}, 1, {.resamples = 0}); }),
            "bootstrap: 0 resamples give no interval; at least 1");
}

}  // namespace convseq
