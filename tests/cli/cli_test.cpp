#include <gtest/gtest.h>

#include "program.h"

namespace convseq {
using testing::run_convseq;

TEST(Program, SaysItsVersion) {
  const auto outcome = run_convseq("version");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output.find("convseq "), 0u) << outcome.output;
}

TEST(Program, RefusesWrongUseInOneLine) {
  for (const char* arguments : {"", "nonsense", "version --no-such-flag"}) {
    const auto outcome = run_convseq(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output.find("convseq: "), 0u) << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
  }
}

}  // namespace convseq
