#include "convseq/base/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {

// A machine with 8 GB available, as /proc and /sys show it.
class Machine {
 public:
  Machine() { file("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n"); }

  void file(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    root.file(name, text);
  }
  double available() const { return available_memory_bytes(root.path()); }

  TempFolder root;
};

}  // namespace

TEST(Memory, IsWhatTheMachineHasAvailable) {
  EXPECT_EQ(Machine().available(), 8'000'000 * 1024.0);
  EXPECT_GT(available_memory_bytes(), 0);
}

TEST(Memory, IsLimitedByControlGroupsOfVersionTwo) {
  const Machine machine;
  machine.file("proc/self/cgroup", "0::/job/step\n");
  machine.file("sys/fs/cgroup/job/memory.max", "3000000000\n");
  machine.file("sys/fs/cgroup/job/memory.current", "1000000000\n");
  machine.file("sys/fs/cgroup/job/memory.stat", "anon 7\ninactive_file 500000000\n");
  machine.file("sys/fs/cgroup/job/step/memory.max", "max\n");
  machine.file("sys/fs/cgroup/job/step/memory.current", "1000000000\n");
  EXPECT_EQ(machine.available(), 2.5e9);
}

TEST(Memory, IsLimitedByControlGroupsOfVersionOne) {
  const Machine machine;
  machine.file("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n");
  machine.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.file("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  machine.file("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000000000\n");
  machine.file("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "500000000\n");
  machine.file("sys/fs/cgroup/memory/a/memory.stat", "total_inactive_file 100000000\n");
  EXPECT_EQ(machine.available(), 1.6e9);
}

TEST(Memory, IsLimitedByTheProcessLimits) {
  rlimit before{};
  ::getrlimit(RLIMIT_DATA, &before);
  rlimit high = before;
  high.rlim_cur = rlim_t{1} << 50;  // more than a sanitizer reserves, or it could allocate nothing
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &high), 0);
  const Machine machine;
  const int64_t left = 2'906'250;  // kB
  machine.file("proc/self/status",
               fmt::format("VmSize: 9 kB\nVmData: {} kB\n", (int64_t{1} << 40) - left));
  const double available = machine.available();
  ::setrlimit(RLIMIT_DATA, &before);
  EXPECT_EQ(available, 1024.0 * left);
}

TEST(Memory, ThatIsMissingIsNamedWithItsFigures) {
  require_memory(5e9, "it", 5e9);
  EXPECT_EQ(
      message_of<NotEnoughMemory>([] { require_memory(24.1e9, "training", 16e9); }),
      "training: needs about 24.1 GB of memory, and the limit is 16 GB; use smaller sizes, or "
      "max_memory=25G to try anyway");
  const std::string free = message_of<NotEnoughMemory>([] { require_memory(1e18, "training"); });
  EXPECT_EQ(free.find("training: needs about 1000 PB of memory, and "), 0u) << free;
  EXPECT_TRUE(free.find(" are free; use smaller sizes") != std::string::npos) << free;
}

TEST(Memory, IsWrittenInPowersOfAThousand) {
  EXPECT_EQ(short_bytes(999), "999 B");
  EXPECT_EQ(short_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(short_bytes(2e12), "2 TB");
}

}  // namespace convseq
