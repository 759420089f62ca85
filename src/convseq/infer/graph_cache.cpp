#include "convseq/infer/graph_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <algorithm>

namespace convseq {
namespace {

std::string key_of(const std::string& function, const Tensors& inputs) {
  std::string key = function;
  for (const auto& each : inputs) {
    key += fmt::format(" {}[{}]", c10::toString(each.scalar_type()), fmt::join(each.sizes(), ","));
  }
  return key;
}

Tensors clones(const Tensors& tensors) {
  Tensors copies;
  for (const auto& each : tensors) copies.push_back(each.clone());
  return copies;
}

}  // namespace

GraphCache::GraphCache(torch::Device device, size_t max_graphs)
    : device_(device), stream_(device), max_graphs_(max_graphs) {}

// A graph may still run when it is dropped.
GraphCache::~GraphCache() {
  if (captured() > 0) torch::cuda::synchronize(device_.index());
}

GraphCache::Entry* GraphCache::find(const std::string& key) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& each) { return each.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return &entries_.front();
}

bool GraphCache::capture(Entry& entry, const Tensors& inputs,
                         const std::function<Tensors(const Tensors&)>& body) {
  entry.inputs = clones(inputs);
  entry.refused = !entry.graph.capture([&] { entry.outputs = body(entry.inputs); });
  return !entry.refused;
}

Tensors GraphCache::call(const std::string& function, const Tensors& inputs,
                         const std::function<Tensors(const Tensors&)>& body) {
  const std::string key = key_of(function, inputs);
  Entry* entry = find(key);
  if (!entry) {
    entries_.push_front({.key = key, .graph = DeviceGraph(stream_)});
    if (entries_.size() > max_graphs_) drop_last();
    return body(inputs);
  }
  if (entry->graph.is_captured()) {
    for (size_t i = 0; i < inputs.size(); ++i) entry->inputs[i].copy_(inputs[i]);
  } else if (entry->refused || !capture(*entry, inputs, body)) {
    return body(inputs);
  }
  entry->graph.replay();
  return clones(entry->outputs);  // the next replay overwrites the outputs themselves
}

void GraphCache::drop_last() {
  if (entries_.back().graph.is_captured()) torch::cuda::synchronize(device_.index());
  entries_.pop_back();
}

size_t GraphCache::captured() const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) {
    return each.graph.is_captured();
  }));
}

}  // namespace convseq
