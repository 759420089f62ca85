#include "convseq/data/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace convseq {
namespace {

using namespace std::chrono_literals;

auto count_to(int last) {
  return [next = 0, last]() mutable -> std::optional<int> {
    if (next == last) return std::nullopt;
    return next++;
  };
}

// Later numbers are often ready before earlier ones.
int square_unevenly(int number) {
  if (number % 7 == 0) std::this_thread::sleep_for(1ms);
  return number * number;
}

}  // namespace

TEST(Prefetcher, GivesResultsInOrderForAnyThreadsAndCapacity) {
  for (const size_t threads : {1, 2, 5}) {
    for (const size_t capacity : {1, 3, 64}) {
      Prefetcher<int, int> squares({.threads = threads, .capacity = capacity}, count_to(200),
                                   square_unevenly);
      for (int i = 0; i < 200; ++i) ASSERT_EQ(squares.next(), i * i);
      EXPECT_EQ(squares.next(), std::nullopt);
      EXPECT_EQ(squares.next(), std::nullopt);
    }
  }
}

TEST(Prefetcher, NeverRunsFurtherAheadThanItsCapacity) {
  std::atomic<int> drawn = 0;
  int taken = 0;
  Prefetcher<int, int> numbers(
      {.threads = 4, .capacity = 3}, [&]() -> std::optional<int> { return drawn++; },
      [](int number) { return number; });
  for (; taken < 50; ++taken) {
    if (taken % 10 == 0) std::this_thread::sleep_for(5ms);
    EXPECT_LE(drawn, taken + 3);
    EXPECT_EQ(numbers.next(), taken);
  }
}

TEST(Prefetcher, CarriesWhatDrawThrowsToItsPlace) {
  Prefetcher<int, int> numbers(
      {.threads = 3, .capacity = 8},
      [next = 0]() mutable -> std::optional<int> {
        if (next == 5) throw std::runtime_error("line 5 is bad");
        return next++;
      },
      square_unevenly);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(numbers.next(), i * i);
  EXPECT_THROW(numbers.next(), std::runtime_error);
  EXPECT_THROW(numbers.next(), std::runtime_error) << "and stays there";
}

TEST(Prefetcher, CarriesWhatMakeThrowsToItsPlace) {
  Prefetcher<int, int> numbers({.threads = 3, .capacity = 8}, count_to(1000), [](int number) {
    if (number == 17) throw std::runtime_error("17");
    return number;
  });
  for (int i = 0; i < 17; ++i) EXPECT_EQ(numbers.next(), i);
  EXPECT_THROW(numbers.next(), std::runtime_error);
}

TEST(Prefetcher, StopsCleanlyWhileFullOrBusyOrFailed) {
  for (int taken = 0; taken < 20; ++taken) {
    Prefetcher<int, std::vector<int>> lists({.threads = 4, .capacity = 4}, count_to(1 << 30),
                                            [](int number) {
                                              std::this_thread::sleep_for(100us);
                                              return std::vector<int>(100, number);
                                            });
    for (int i = 0; i < taken; ++i) EXPECT_EQ(lists.next()->front(), i);
  }
  Prefetcher<int, int> failing(
      {.threads = 4, .capacity = 4},
      []() -> std::optional<int> { throw std::runtime_error("never read"); },
      [](int number) { return number; });
}

}  // namespace convseq
