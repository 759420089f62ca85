#include "convseq/base/metrics/tensorboard.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "python.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::message_of;
using testing::python;
using testing::TempFolder;

TEST(TensorBoard, WritesTheBytesThatThePackageWrites) {
  TempFolder folder;
  const std::chrono::system_clock::time_point now{1'600'000'000'250ms};
  // The EVENTS of make_tensorboard_golden.py.
  TensorBoard board(folder.path(), {.resumed_step = 300, .clock = [&] { return now; }});
  board.scalars(0, std::vector<Scalar>{{"loss", 0}});
  board.scalars(301, std::vector<Scalar>{{"loss", 2.5}, {"learning_rate", 1e-4}});
  board.text(int64_t{1} << 40, "config", "`d_model` is **512** – naïve");
  board.text(int64_t{1} << 40, "long", std::string(300, 'x'));
  EXPECT_EQ(read_text_file(board.path()),
            read_text_file(CONVSEQ_SOURCE_DIR "/tests/goldens/tensorboard.tfevents"));
  EXPECT_TRUE(
      board.path().filename().string().starts_with("events.out.tfevents.1600000000.250000."));
}

TEST(TensorBoardPackage, ReadsARunThatWasKilledAndResumed) {
  if (python("-c 'import tensorboard' 2>/dev/null") != 0) {
    GTEST_SKIP() << "Python's tensorboard is not there; pip install tensorboard";
  }
  TempFolder folder;
  {
    TensorBoard board(folder / "runs");
    board.text(0, "config", "naïve");
    for (int64_t step = 1; step <= 5; ++step) {
      board.scalars(step, std::vector<Scalar>{{"loss", 10.0 + static_cast<double>(step)}});
    }
    fs::resize_file(board.path(), fs::file_size(board.path()) - 3);  // killed within a record
  }
  TensorBoard board(folder / "runs", {.resumed_step = 2});
  board.scalars(3, std::vector<Scalar>{{"loss", 20}, {"lr", 0.5}});
  EXPECT_EQ(python("'" CONVSEQ_SOURCE_DIR "/tests/base/tensorboard_interop.py' " +
                   (folder / "runs").string()),
            0);
}

TEST(TensorBoard, NamesTheFolderItCannotMake) {
  TempFolder folder;
  const std::string path = (folder.file("file", "") / "runs").string();
  EXPECT_EQ(message_of<Error>([&] { TensorBoard board(path); }),
            path + ": cannot create: Not a directory");
}

}  // namespace convseq
