#include "convseq/runtime/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "convseq/base/machine.h"
#include "convseq/base/start_threads.h"

namespace convseq {
namespace {

// The phases of one computation follow each other within microseconds: a thread that slept between
// them would wake up too late. After this many checks (tens of microseconds) it sleeps.
constexpr int kChecksBeforeSleep = 4000;

void relax() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `value` is not `old`.
template <class T>
void await_change(const std::atomic<T>& value, T old) {
  for (int check = 0; check < kChecksBeforeSleep; ++check) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

int64_t usable_cores() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) {
    return std::max<int64_t>(1, CPU_COUNT(&cores));
  }
  return hardware_threads();
}

ThreadPool::ThreadPool(int64_t threads) {
  const auto others = static_cast<size_t>(std::max<int64_t>(threads - 1, 0));
  start_threads(
      workers_, others, [this](size_t i) { work(static_cast<int64_t>(i) + 1); },
      [this] { stop(); });
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  ends_ = true;
  started_.fetch_add(1, std::memory_order_release);
  started_.notify_all();
  for (std::thread& each : workers_) each.join();
}

void ThreadPool::start(const Phase& phase) {
  phase_ = phase;
  next_task_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int64_t>(workers_.size()), std::memory_order_relaxed);
  started_.fetch_add(1, std::memory_order_release);
  started_.notify_all();
  run_tasks(/*thread=*/0);
  for (int64_t busy = busy_.load(std::memory_order_acquire); busy > 0;
       busy = busy_.load(std::memory_order_acquire)) {
    await_change(busy_, busy);
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work(int64_t thread) {
  for (uint64_t seen = 0;; ++seen) {
    await_change(started_, seen);
    if (ends_) return;
    run_tasks(thread);
    busy_.fetch_sub(1, std::memory_order_acq_rel);
    busy_.notify_one();
  }
}

void ThreadPool::run_tasks(int64_t thread) {
  for (;;) {
    const int64_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
    if (task >= phase_.tasks) return;
    try {
      phase_.call(phase_.body, task, thread);
    } catch (...) {
      const std::scoped_lock lock(failure_mutex_);
      failure_ = std::current_exception();
    }
  }
}

}  // namespace convseq
