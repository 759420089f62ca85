#include "convseq/base/metrics/metrics_log.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <sstream>

#include "convseq/base/random.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {

const std::string kLines =
    "{\"step\":0,\"valid_loss\":7.0}\n"
    "{\"step\":1,\"loss\":6.5}\n"
    "{\"step\":2,\"loss\":6.0}\n"
    "{\"step\":2,\"valid_loss\":6.25}\n";

}  // namespace

TEST(MetricsLog, WritesOneObjectALine) {
  TempFolder folder;
  MetricsLog log(folder.file("m.jsonl", "what an earlier run left\n"));
  log.write(1, {{"loss", 2.5}, {"lr", 0.1}, {"note", "a\nb"}});
  log.write(2, {{"loss", std::nan("")}});
  EXPECT_EQ(
      read_text_file(folder / "m.jsonl"),
      "{\"step\":1,\"loss\":2.5,\"lr\":0.1,\"note\":\"a\\nb\"}\n{\"step\":2,\"loss\":null}\n");
}

TEST(MetricsLog, ResumedKeepsTheLinesUpToTheStepAndCutsTheRest) {
  const std::vector<std::pair<std::string, std::string>> rests = {
      {"nothing", ""},
      {"later steps", "{\"step\":3,\"loss\":5.5}\n{\"step\":4,\"loss\":5.0}\n"},
      {"a torn line", "{\"step\":2,\"lo"},
      {"a whole line but for its end", "{\"step\":2,\"loss\":1.0}"},
      {"a later step and a torn line", "{\"step\":3,\"loss\":5.5}\n{\"st"},
      {"zeros after a power cut", std::string(8, '\0') + "\n"},
      {"a line without a step", "{\"loss\":1.0}\n"},
  };
  for (const auto& [what, rest] : rests) {
    TempFolder folder;
    MetricsLog log(folder.file("m.jsonl", kLines + rest), 2);
    log.write(3, {{"loss", 5.5}});
    EXPECT_EQ(read_text_file(folder / "m.jsonl"), kLines + "{\"step\":3,\"loss\":5.5}\n") << what;
  }
}

TEST(MetricsLog, ResumedWithoutAFileBeginsOne) {
  TempFolder folder;
  MetricsLog(folder / "m.jsonl", 5).write(6, {});
  EXPECT_EQ(read_text_file(folder / "m.jsonl"), "{\"step\":6}\n");
}

TEST(MetricsLog, KilledAtAnyMomentItHasEveryLineButTheLastWhole) {
  for (uint64_t round = 0; round < 10; ++round) {
    TempFolder folder;
    const fs::path path = folder / "m.jsonl";
    const pid_t child = ::fork();
    if (child == 0) {
      MetricsLog log(path);
      for (int64_t step = 1;; ++step) log.write(step, {{"text", std::string(5000, 'x')}});
    }
    while (!fs::exists(path) || fs::file_size(path) == 0) ::usleep(100);
    ::usleep(static_cast<useconds_t>(Random(1, {round}).below(5000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);

    MetricsLog(path, 1'000'000'000).write(0, {});
    std::istringstream lines(read_text_file(path));
    int64_t step = 0;
    for (std::string line; std::getline(lines, line) && line != "{\"step\":0}";) {
      ASSERT_EQ(parse_json(line, "line").at("step"), ++step);
    }
    EXPECT_GE(step, 1);
  }
}

TEST(MetricsLog, NamesTheFileItCannotWrite) {
  EXPECT_EQ(message_of<Error>([] { MetricsLog log("/no/such/folder/m.jsonl"); }),
            "/no/such/folder/m.jsonl: cannot create: No such file or directory");
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(message_of<Error>([] { MetricsLog("/dev/full").write(1, {}); }),
            "/dev/full: cannot write: No space left on device");
}

}  // namespace convseq
