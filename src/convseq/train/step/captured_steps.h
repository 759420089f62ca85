#pragma once

#include <functional>
#include <map>

#include "convseq/ops/device_graph.h"
#include "convseq/train/step/capture_totals.h"
#include "convseq/train/step/step_inputs.h"

namespace convseq {

struct CaptureOptions {
  int64_t max_graphs = 16;  // the least recently used is dropped for a new one
  // Times the matmuls of each shape with several algorithms before it is captured. Faster steps,
  // but the choice may differ from run to run, and with it the last bits of the results.
  bool tune_matmuls = true;
};

// Runs training steps on a GPU. A step whose inputs have a shape for the first time launches its
// kernels one by one; one whose shape has been seen is captured as a CUDA graph, and replayed from
// then on.
class CapturedSteps {
 public:
  using Step = std::function<torch::Tensor(const StepInputs&)>;  // returns the sums, on the device

  CapturedSteps(torch::Device device, const CaptureOptions& options, Step step);

  HostCopy run(const StepInputs& on_host);  // does not wait for the device
  bool replays() const { return replayed_last_; }
  CaptureTotals totals() const;

 private:
  struct Captured {
    DeviceGraph graph;
    StepInputs inputs;        // what it reads
    torch::Tensor sums = {};  // and what it leaves
    int64_t last_use = 0;
  };
  using Shape = std::vector<int64_t>;

  torch::Tensor replay(Captured& captured, const StepInputs& on_host);
  torch::Tensor launch(const StepInputs& on_host, int64_t earlier_launches);
  bool capture(const Shape& shape, const StepInputs& on_host);
  void drop_least_recently_used();

  torch::Device device_;
  CaptureOptions options_;
  Step step_;
  GraphStream stream_;
  std::map<Shape, Captured> captured_;
  std::map<Shape, int64_t> launches_;  // of shapes that are not captured
  bool captures_ = true;               // false: it was tried in vain
  bool replayed_last_ = false;
  CaptureTotals totals_;
};

}  // namespace convseq
