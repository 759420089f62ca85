#pragma once

#include <system_error>
#include <thread>
#include <vector>

#include "convseq/base/error.h"

namespace convseq {

// Starts `count` threads that call body(0), body(1), … Where the system allows no more of them,
// stop() is to end and join those that run, and an Error says so.
template <class Body, class Stop>
void start_threads(std::vector<std::thread>& threads, size_t count, Body body, Stop stop) {
  try {
    for (size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::system_error& error) {
    stop();
    throw Error(
        fmt::format("cannot start {} threads: {}; use fewer", count, error.code().message()),
        Error::Cause::Failure);
  }
}

}  // namespace convseq
