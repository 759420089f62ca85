#include "convseq/eval/statistics/students_t.h"

#include <gtest/gtest.h>

#include <cmath>

#include "convseq/base/error.h"

namespace convseq {

TEST(StudentsT, QuantilesAreThoseOfThePrintedTables) {
  const struct {
    double degrees, t95, t99;
  } rows[] = {{1, 12.706204736, 63.656741162}, {2, 4.302652730, 9.924843201},
              {3, 3.182446305, 5.840909310},   {4, 2.776445105, 4.604094871},
              {10, 2.228138852, 3.169272673},  {30, 2.042272456, 2.749995654},
              {120, 1.979930405, 2.617421143}, {1e9, 1.959963985, 2.575829304}};
  for (const auto& row : rows) {
    EXPECT_NEAR(students_t_quantile(0.95, row.degrees), row.t95, 1e-5 * row.t95) << row.degrees;
    EXPECT_NEAR(students_t_quantile(0.99, row.degrees), row.t99, 1e-5 * row.t99) << row.degrees;
  }
}

TEST(StudentsT, OneAndTwoDegreesHaveClosedForms) {
  for (const double t : {0.0, 0.01, 0.5, 1.0, 3.0, 100.0}) {
    EXPECT_NEAR(students_t_upper_tail(t, 1), 0.5 - std::atan(t) / M_PI, 1e-14);
    EXPECT_NEAR(students_t_upper_tail(t, 2), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-14);
    EXPECT_NEAR(students_t_upper_tail(-t, 2), 1 - students_t_upper_tail(t, 2), 1e-14);
  }
}

TEST(StudentsT, QuantileInvertsTheTail) {
  for (const double degrees : {1.0, 1.7, 4.0, 33.3, 5000.0}) {
    for (const double confidence : {0.0, 0.5, 0.9, 0.999}) {
      const double t = students_t_quantile(confidence, degrees);
      EXPECT_NEAR(2 * students_t_upper_tail(t, degrees), 1 - confidence, 1e-10);
    }
  }
}

TEST(IncompleteBeta, AgreesWithPolynomialsAndItsSymmetry) {
  EXPECT_NEAR(incomplete_beta(1, 1, 0.3), 0.3, 1e-15);
  EXPECT_NEAR(incomplete_beta(2, 3, 0.4), 6 * 0.16 - 8 * 0.064 + 3 * 0.0256, 1e-14);
  EXPECT_NEAR(incomplete_beta(0.5, 7, 0.2) + incomplete_beta(7, 0.5, 0.8), 1, 1e-14);
  EXPECT_EQ(incomplete_beta(2, 3, 0), 0);
  EXPECT_EQ(incomplete_beta(2, 3, 1), 1);
  EXPECT_THROW(incomplete_beta(0, 1, 0.5), Error);
}

}  // namespace convseq
