#include "convseq/text/elapsed_progress.h"

#include <gtest/gtest.h>

namespace convseq {
namespace {

// What is written into a log while some work of 200 ms is done.
std::string log_of(std::chrono::milliseconds line_interval) {
  std::FILE* out = std::tmpfile();
  {
    const ElapsedProgress progress(
        {.label = "training", .out = out, .line_interval = line_interval});
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  std::rewind(out);
  std::string text(1000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  return text;
}

}  // namespace

TEST(ElapsedProgress, WritesALineNowAndThenWhileTheWorkGoesOn) {
  const std::string text = log_of(std::chrono::milliseconds(20));
  EXPECT_EQ(text.find("training  0:00\ntraining  0:00\n"), 0u) << text;
}

TEST(ElapsedProgress, SaysNothingOfWorkThatIsDoneAtOnce) {
  EXPECT_EQ(log_of(std::chrono::seconds(10)), "");
}

}  // namespace convseq
