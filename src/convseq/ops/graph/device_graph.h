#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace convseq {

// A CUDA stream on which graphs are captured and replayed, and the memory pool that they share.
// Graphs of one stream run one after another, so they may use the same memory for what they
// compute on the way. Results in memory that a graph allocated itself are therefore valid only
// until another graph of the stream is replayed.
class GraphStream {
 public:
  explicit GraphStream(torch::Device device);
  ~GraphStream();

  // Calls work() on this stream, after all that was queued on the device before. Its tensors must
  // not be used elsewhere before the device was waited for.
  void run(const std::function<void()>& work);

  void wait() const noexcept;  // until the device has done all that was queued on this stream

  int64_t pool_bytes() const;  // device memory that captures have reserved for the pool

 private:
  friend class DeviceGraph;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// GPU work that is captured once and replayed without the host's part in it: the same kernels on
// the same addresses, with whatever these hold by then.
class DeviceGraph {
 public:
  explicit DeviceGraph(GraphStream& stream);
  ~DeviceGraph();
  DeviceGraph(DeviceGraph&&) noexcept;
  DeviceGraph& operator=(DeviceGraph&&) noexcept;

  // Captures work() without doing it, in place of what was captured before. Returns false and logs
  // the reason where it cannot be captured; nothing has happened then.
  bool capture(const std::function<void()>& work);
  bool is_captured() const;
  void replay();  // on the graph's stream

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A copy of a small tensor to the host, queued on the current stream.
class HostCopy {
 public:
  explicit HostCopy(const torch::Tensor& from);
  torch::Tensor wait() const;  // for this copy and what was queued before it

 private:
  torch::Tensor there_;
  std::shared_ptr<void> arrived_;
};

}  // namespace convseq
