#include "convseq/base/progress.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "temp_folder.h"

namespace convseq {
using namespace std::chrono_literals;

TEST(Progress, WritesPlainLinesWhereTheOutputIsNoTerminal) {
  testing::TempFolder folder;
  std::FILE* file = std::fopen((folder / "log").c_str(), "w");
  std::chrono::steady_clock::time_point now{};
  {
    Progress progress({.label = "train", .total = 100, .unit = "steps", .out = file, .clock = [&] {
                         return now;
                       }});
    for (int step = 1; step <= 50; ++step) {
      now += 1s;
      progress.update(step, "loss 2.5");
    }
  }
  std::fclose(file);
  const std::string log = read_text_file(folder / "log");
  EXPECT_EQ(log,
            "train  10% 10/100 steps  1.0/s  1:30 left  loss 2.5\n"
            "train  20% 20/100 steps  1.0/s  1:20 left  loss 2.5\n"
            "train  30% 30/100 steps  1.0/s  1:10 left  loss 2.5\n"
            "train  40% 40/100 steps  1.0/s  1:00 left  loss 2.5\n"
            "train  50% 50/100 steps  1.0/s  0:50 left  loss 2.5\n"
            "train  50% 50/100 steps  1.0/s  0:50 left  loss 2.5\n");
}

namespace {

// What is left in the log after one update, a second after the start.
std::string log_of_one_update(int64_t done, std::optional<int64_t> first) {
  testing::TempFolder folder;
  std::FILE* file = std::fopen((folder / "log").c_str(), "w");
  std::chrono::steady_clock::time_point now{};
  {
    Progress progress(
        {.label = "predict", .unit = "rows", .first = first, .out = file, .clock = [&] {
           return now;
         }});
    now += 1s;
    if (done > 0) progress.update(done);
  }
  std::fclose(file);
  return read_text_file(folder / "log");
}

}  // namespace

TEST(Progress, SpeedIsWhatWasDoneOverTheTimeSinceTheStart) {
  EXPECT_EQ(log_of_one_update(1215, 0), "predict 1215 rows  1215/s\n");
  EXPECT_EQ(log_of_one_update(1215, 1200), "predict 1215 rows  15.0/s\n");
  EXPECT_EQ(log_of_one_update(1215, {}), "predict 1215 rows  1.0/s\n") << "resumed at 1214";
  EXPECT_EQ(log_of_one_update(1, 0), "predict 1 row  1.0/s\n");
}

TEST(Progress, DrawsNothingBeforeTheFirstUpdate) { EXPECT_EQ(log_of_one_update(0, 0), ""); }

TEST(Progress, FormatsDurations) {
  EXPECT_EQ(format_duration(7s), "0:07");
  EXPECT_EQ(format_duration(750s), "12:30");
  EXPECT_EQ(format_duration(3h + 4min + 5s), "3:04:05");
}

}  // namespace convseq
