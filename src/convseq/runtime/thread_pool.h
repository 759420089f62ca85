#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace convseq {

// The number of cores that this process may use.
int64_t usable_cores();

// Threads that run the phases of a computation. The caller is one of them, so that a pool of one
// thread starts none. A phase allocates nothing. One pool is used by one thread at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int64_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int64_t threads() const { return static_cast<int64_t>(workers_.size()) + 1; }

  // body(task, thread) for each task in [0, tasks), in any order, with thread in [0, threads()).
  // Returns once all are done, and throws what one of them threw.
  template <class Body>
  void run(int64_t tasks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    if (tasks <= 1 || workers_.empty()) {
      for (int64_t task = 0; task < tasks; ++task) body(task, int64_t{0});
      return;
    }
    start({.tasks = tasks,
           .body = const_cast<void*>(static_cast<const void*>(&body)),
           .call = [](void* each, int64_t task, int64_t thread) {
             (*static_cast<Plain*>(each))(task, thread);
           }});
  }

 private:
  struct Phase {
    int64_t tasks = 0;
    void* body = nullptr;
    void (*call)(void* body, int64_t task, int64_t thread) = nullptr;
  };

  void start(const Phase& phase);
  void stop();
  void work(int64_t thread);
  void run_tasks(int64_t thread);

  std::vector<std::thread> workers_;
  Phase phase_;
  std::atomic<uint64_t> started_ = 0;  // phases started so far; the workers wait for a new one
  std::atomic<int64_t> next_task_ = 0;
  std::atomic<int64_t> busy_ = 0;  // workers that have not ended the phase
  std::atomic<bool> ends_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace convseq
