#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
using testing::run_convseq;
using testing::TempFolder;

TEST(Plots, AreDrawnByGnuplot) {
  const TempFolder folder;
  if (testing::run_shell("command -v gnuplot").exit_code != 0) GTEST_SKIP() << "no gnuplot";
  const auto outcome = run_convseq(
      "bench decode --device cpu --model paper-light-tiny --positions 2,4 --source 4 --quiet "
      "--plot " +
      (folder / "decode.svg").string());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  for (const char* name : {"decode-speed.svg", "decode-state.svg"}) {
    EXPECT_NE(read_text_file(folder / name).find("<svg"), std::string::npos);
  }
}

}  // namespace convseq
