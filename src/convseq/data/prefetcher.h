#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "convseq/base/machine.h"
#include "convseq/base/start_threads.h"

namespace convseq {

struct PrefetcherOptions {
  size_t threads = 1;
  size_t capacity = 4;  // upper bound on results begun but not yet taken, and so on the memory
};

// `asked`, or where that is 0 one per core, at most 8: more of them wait for the one that draws.
inline size_t prefetch_threads(size_t asked) {
  return asked > 0 ? asked : std::min<size_t>(hardware_threads(), 8);
}

// Computes results ahead of time on its own threads, and returns them in order. One thread at a
// time calls `draw`, in order, until it returns nothing; all threads call `make` concurrently:
//
//   Prefetcher<Lines, Tokens> tokens({.threads = 8}, read_lines, tokenize);
//   while (auto each = tokens.next()) …
//
// An exception of either is thrown by next() in its place, and ends the sequence.
template <class Draft, class Result>
class Prefetcher {
 public:
  using Draw = std::function<std::optional<Draft>()>;
  using Make = std::function<Result(Draft)>;

  Prefetcher(PrefetcherOptions options, Draw draw, Make make)
      : draw_(std::move(draw)),
        make_(std::move(make)),
        slots_(std::max<size_t>(options.capacity, 1)) {
    start_threads(
        threads_, std::max<size_t>(options.threads, 1), [this](size_t) { work(); },
        [this] { stop(); });
  }

  ~Prefetcher() { stop(); }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Whether next() would return at once.
  bool is_ready() {
    const std::scoped_lock lock(mutex_);
    return slots_[taken_ % slots_.size()].ready;
  }

  // Waits for the next result; returns nothing at the end and after it.
  std::optional<Result> next() {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % slots_.size()];
    ready_.wait(lock, [&] { return slot.ready; });
    if (slot.error) std::rethrow_exception(slot.error);
    if (!slot.result) return std::nullopt;
    std::optional<Result> result = std::move(slot.result);
    slot = {};
    ++taken_;
    lock.unlock();
    room_.notify_one();
    return result;
  }

 private:
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  struct Slot {
    bool ready = false;
    std::optional<Result> result;  // empty without an error: the end
    std::exception_ptr error;
  };

  void work() {
    while (true) {
      size_t number = 0;
      Slot made{.ready = true, .result = {}, .error = {}};
      std::optional<Draft> draft;
      {
        const std::scoped_lock turn(draw_mutex_);
        if (!wait_for_room()) return;
        number = drawn_++;
        try {
          draft = draw_();
        } catch (...) {
          made.error = std::current_exception();
        }
        ended_ = !draft;
      }
      if (draft) {
        try {
          made.result = make_(std::move(*draft));
        } catch (...) {
          made.error = std::current_exception();
        }
      }
      {
        const std::scoped_lock lock(mutex_);
        slots_[number % slots_.size()] = std::move(made);
      }
      ready_.notify_one();
      if (!draft) return;
    }
  }

  bool wait_for_room() {  // false: no more work
    if (ended_) return false;
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || drawn_ - taken_ < slots_.size(); });
    return !stopping_;
  }

  const Draw draw_;
  const Make make_;

  std::mutex draw_mutex_;  // held while drawing; guards drawn_ and ended_
  size_t drawn_ = 0;
  bool ended_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable room_, ready_;
  std::vector<Slot> slots_;  // result n is in slot n modulo the capacity
  size_t taken_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace convseq
