#pragma once

#include <torch/types.h>

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "convseq/ops/device_graph.h"

namespace convseq {

using Tensors = std::vector<torch::Tensor>;

// Functions of tensors on a GPU, captured as CUDA graphs: one graph for each function and shape of
// its inputs. A shape seen once is launched, seen again it is captured, and from then on replayed.
// Whatever else a function reads (weights) must keep its address.
class GraphCache {
 public:
  explicit GraphCache(torch::Device device, size_t max_graphs = 32);
  ~GraphCache();

  // `body` under the name `function`. All calls and what uses their results belong into run().
  Tensors call(const std::string& function, const Tensors& inputs,
               const std::function<Tensors(const Tensors&)>& body);
  void run(const std::function<void()>& work) { stream_.run(work); }

  size_t captured() const;

 private:
  struct Entry {
    std::string key;
    DeviceGraph graph;
    bool refused = false;  // it could not be captured
    Tensors inputs = {}, outputs = {};
  };

  Entry* find(const std::string& key);  // null: not seen before
  void drop_last();
  bool capture(Entry& entry, const Tensors& inputs,
               const std::function<Tensors(const Tensors&)>& body);

  torch::Device device_;
  GraphStream stream_;
  size_t max_graphs_;
  std::list<Entry> entries_;  // the most recently used first
};

}  // namespace convseq
