#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>

namespace convseq {

// Work of a GPU, captured once and replayed without the host's part in it: the same kernels on
// the same addresses, whatever these hold by then. Both need a stream of their own.
class StepGraph {
 public:
  explicit StepGraph(torch::Device device);
  ~StepGraph();

  // Calls work() on the graph's stream, after all that was asked of the device before; its tensors
  // must not be used elsewhere before the device was waited for.
  void run(const std::function<void()>& work);

  // Captures work() without doing it, in place of what was captured. False: it cannot be captured,
  // and nothing has happened.
  bool capture(const std::function<void()>& work);
  bool is_captured() const;
  void replay();  // does what was captured

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A copy of a small tensor on its way to the host, behind what was asked of the device before.
class HostCopy {
 public:
  explicit HostCopy(const torch::Tensor& from);
  torch::Tensor wait() const;  // for this much and no more

 private:
  torch::Tensor there_;
  std::shared_ptr<void> arrived_;
};

}  // namespace convseq
