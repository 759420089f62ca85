#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convseq/base/log.h"

namespace convseq::bench {

// Called before each measurement with the number done, the total, and the name of the next one. If
// it returns false, the benchmark stops and returns what was measured so far.
using Watch = std::function<bool(int64_t done, int64_t total, const std::string& next)>;

inline bool go_on(int64_t, int64_t, const std::string&) { return true; }

// What `measure` returns for each item. One that cannot be measured is logged and skipped.
template <class Item, class Name, class Measure>
auto measure_each(const std::vector<Item>& items, const Watch& watch, Name name_of_item,
                  Measure measure) {
  std::vector<decltype(measure(items.front()))> results;
  for (const Item& item : items) {
    const std::string next = name_of_item(item);
    if (!watch(std::ssize(results), std::ssize(items), next)) break;
    try {
      results.push_back(measure(item));
    } catch (const std::exception& error) {
      log::error("{}: not measured: {}", next, error.what());
    }
  }
  return results;
}

}  // namespace convseq::bench
