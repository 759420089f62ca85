#pragma once

#include <optional>
#include <string>
#include <utility>

#include "convseq/study/run/cell_lock.h"

namespace convseq {

// A pool and each of its workers share a socket, which is the worker's standard input. A worker
// that has locked a cell sends its id and a copy of the lock. Should it die, the copy keeps the
// cell locked until the pool has recorded the death; a worker that lives unlocks both.

// The worker's end. Without a pool it does nothing.
class PoolLink {
 public:
  PoolLink() = default;
  static PoolLink inherited();  // by a process that a pool has started; else as without a pool

  bool connected() const { return descriptor_ >= 0; }
  void begin(const std::string& cell, const CellLock& lock) const;
  void end() const;  // of the cell: it is stored, or stopped

 private:
  explicit PoolLink(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// The pool's end.
class WorkerLink {
 public:
  WorkerLink();

  // Makes the other end the standard input of this process: a child between fork() and exec().
  void become_standard_input() const;
  void close_other_end() { theirs_ = Descriptor(); }

  void receive();  // what the worker has sent by now
  const std::optional<std::string>& cell() const { return cell_; }  // that the worker is computing
  bool has_begun() const { return has_begun_; }                     // a cell, ever

 private:
  class Descriptor {
   public:
    explicit Descriptor(int value = -1) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
      std::swap(value_, other.value_);
      return *this;
    }
    ~Descriptor();
    int get() const { return value_; }

   private:
    int value_;
  };

  Descriptor ours_, theirs_;
  Descriptor lock_;  // of the cell; closing it unlocks nothing while the worker lives
  std::optional<std::string> cell_;
  bool has_begun_ = false;
};

}  // namespace convseq
