#include "convseq/ops/graph/graph_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>

namespace convseq {
namespace {

constexpr size_t kMostSeen = 4096;  // data without recurring shapes must not fill memory

std::string key_of(const std::string& function, const Tensors& inputs) {
  std::string key = function;
  for (const auto& each : inputs) {
    key += each.defined() ? fmt::format(" {}[{}]", c10::toString(each.scalar_type()),
                                        fmt::join(each.sizes(), ","))
                          : " -";
  }
  return key;
}

}  // namespace

GraphCache::GraphCache(torch::Device device, int64_t max_graphs)
    : device_(device), stream_(device), max_graphs_(max_graphs) {}

// A graph may still run when it is dropped.
GraphCache::~GraphCache() { stream_.wait(); }

Tensors GraphCache::on_device(const Tensors& inputs) const {
  Tensors copies;
  for (const auto& each : inputs) {
    copies.push_back(each.defined() ? each.to(device_, /*non_blocking=*/true, /*copy=*/true)
                                    : each);
  }
  return copies;
}

GraphCache::Entry* GraphCache::find(const std::string& key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front();
}

GraphCache::Entry* GraphCache::capture(const std::string& key, const Tensors& inputs,
                                       const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  Entry fresh{.key = key, .graph = DeviceGraph(stream_), .inputs = on_device(inputs)};
  captures_ = fresh.graph.capture([&] { fresh.outputs = body(fresh.inputs); });
  if (!captures_) return nullptr;
  entries_.push_front(std::move(fresh));
  if (captured() > max_graphs_) {  // after the capture: a memory pool lives as long as its graphs
    stream_.wait();
    entries_.pop_back();
  }
  ++totals_.captures;
  totals_.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return &entries_.front();
}

Tensors GraphCache::call(const std::string& function, const Tensors& inputs, const Body& body) {
  const std::string key = key_of(function, inputs);
  Entry* entry = find(key);
  if (entry) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].defined()) entry->inputs[i].copy_(inputs[i], /*non_blocking=*/true);
    }
  } else if (captures_ && seen_.contains(key)) {
    entry = capture(key, inputs, body);
  }
  if (!entry) {
    if (seen_.size() > kMostSeen) seen_.clear();
    seen_.insert(key);
    ++totals_.launched;
    return body(on_device(inputs));
  }
  ++totals_.replayed;
  entry->graph.replay();
  Tensors results;  // copies: the next replay overwrites the outputs themselves
  for (const auto& each : entry->outputs) results.push_back(each.clone());
  return results;
}

CaptureTotals GraphCache::totals() const {
  CaptureTotals totals = totals_;
  totals.bytes = stream_.pool_bytes();
  return totals;
}

}  // namespace convseq
