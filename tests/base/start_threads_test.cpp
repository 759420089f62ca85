#include "convseq/base/start_threads.h"

#include <gtest/gtest.h>

#include <atomic>

#include "temp_folder.h"

namespace convseq {
namespace {

// Cannot be copied any more after some copies, as a thread cannot be started where the system
// allows no more of them.
struct Body {
  std::atomic<int>* runs;
  std::atomic<int>* copies_left;

  Body(std::atomic<int>& runs, std::atomic<int>& copies_left)
      : runs(&runs), copies_left(&copies_left) {}
  Body(Body&&) = default;
  Body(const Body& other) : runs(other.runs), copies_left(other.copies_left) {
    if ((*copies_left)-- == 0) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
  }
  void operator()(size_t) const { ++*runs; }
};

}  // namespace

TEST(StartThreads, EndsThoseThatRunWhereNotAllCanBeStarted) {
  std::vector<std::thread> threads;
  std::atomic<int> runs = 0, copies_left = 2;
  const auto join = [&] {
    for (std::thread& each : threads) each.join();
  };
  const std::string message =
      testing::message_of<Error>([&] { start_threads(threads, 5, Body(runs, copies_left), join); });
  EXPECT_EQ(message, "cannot start 5 threads: Resource temporarily unavailable; use fewer");
  EXPECT_EQ(runs, 2);
}

}  // namespace convseq
