#include "convseq/train/step/step_graph.h"

#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/base/log.h"

#ifdef CONVSEQ_TORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>

namespace convseq {

struct StepGraph::Impl {
  c10::cuda::CUDAStream stream;
  std::unique_ptr<at::cuda::CUDAGraph> graph = nullptr;
};

StepGraph::StepGraph(torch::Device device)
    : impl_(new Impl{c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())}) {}

StepGraph::~StepGraph() = default;

void StepGraph::run(const std::function<void()>& work) {
  at::cuda::CUDAEvent before;
  before.record(c10::cuda::getCurrentCUDAStream(impl_->stream.device_index()));
  before.block(impl_->stream);
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  work();
}

bool StepGraph::capture(const std::function<void()>& work) {
  impl_->stream.synchronize();
  // A capture keeps memory of its own; what the steps before it used is given back first.
  impl_->graph.reset();
  c10::cuda::CUDACachingAllocator::emptyCache();
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  auto graph = std::make_unique<at::cuda::CUDAGraph>();
  try {
    graph->capture_begin();
    work();
    graph->capture_end();
  } catch (const std::exception& error) {
    log::warning(
        "a training step could not be captured as a CUDA graph, so every kernel is launched "
        "separately: {}",
        error.what());
    try {
      graph->capture_end();
    } catch (const std::exception&) {  // the capture is void already
    }
    return false;
  }
  impl_->graph = std::move(graph);
  return true;
}

bool StepGraph::is_captured() const { return impl_->graph != nullptr; }

void StepGraph::replay() {
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  impl_->graph->replay();
}

HostCopy::HostCopy(const torch::Tensor& from)
    : there_(torch::empty(from.sizes(), from.options().device(torch::kCPU).pinned_memory(true))) {
  there_.copy_(from, /*non_blocking=*/true);
  const auto event = std::make_shared<at::cuda::CUDAEvent>();
  event->record();
  arrived_ = event;
}

torch::Tensor HostCopy::wait() const {
  std::static_pointer_cast<at::cuda::CUDAEvent>(arrived_)->synchronize();
  return there_;
}

}  // namespace convseq

#else

namespace convseq {

struct StepGraph::Impl {};

StepGraph::StepGraph(torch::Device) { fail("step graph: this build has no CUDA"); }
StepGraph::~StepGraph() = default;
void StepGraph::run(const std::function<void()>& work) { work(); }
bool StepGraph::capture(const std::function<void()>&) { return false; }
bool StepGraph::is_captured() const { return false; }
void StepGraph::replay() {}

HostCopy::HostCopy(const torch::Tensor& from) : there_(from.cpu()) {}
torch::Tensor HostCopy::wait() const { return there_; }

}  // namespace convseq

#endif
