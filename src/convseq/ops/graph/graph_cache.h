#pragma once

#include <torch/types.h>

#include <functional>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "convseq/ops/graph/device_graph.h"

namespace convseq {

using Tensors = std::vector<torch::Tensor>;

struct CaptureTotals {
  int64_t captures = 0;
  double seconds = 0;    // spent on capturing
  int64_t bytes = 0;     // device memory that all graphs share
  int64_t replayed = 0;  // calls
  int64_t launched = 0;
};

// Functions of tensors on a GPU, captured as CUDA graphs: one graph for each function and shape of
// its inputs. A shape seen for the first time is launched, because libraries set themselves up
// then; seen again it is captured, and from then on replayed. Whatever else a function reads or
// writes (weights) must keep its address.
class GraphCache {
 public:
  using Body = std::function<Tensors(const Tensors&)>;

  // The least recently used graph is dropped where there would be more than `max_graphs`.
  explicit GraphCache(torch::Device device, int64_t max_graphs = 32);
  ~GraphCache();

  // `body` under the name `function`. Inputs may lie in pinned memory of the host, from which they
  // are copied without waiting; undefined ones stay so. All calls and what uses their results
  // belong into run().
  Tensors call(const std::string& function, const Tensors& inputs, const Body& body);
  void run(const std::function<void()>& work) { stream_.run(work); }

  int64_t captured() const { return std::ssize(entries_); }  // graphs that are held
  CaptureTotals totals() const;

 private:
  struct Entry {
    std::string key;
    DeviceGraph graph;
    Tensors inputs = {}, outputs = {};
  };

  Entry* find(const std::string& key);
  Entry* capture(const std::string& key, const Tensors& inputs, const Body& body);
  Tensors on_device(const Tensors& inputs) const;

  torch::Device device_;
  GraphStream stream_;
  int64_t max_graphs_;
  std::list<Entry> entries_;    // captured; the most recently used first
  std::set<std::string> seen_;  // launched so far
  bool captures_ = true;        // false: it was tried in vain
  CaptureTotals totals_;
};

}  // namespace convseq
