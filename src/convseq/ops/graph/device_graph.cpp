#include "convseq/ops/graph/device_graph.h"

#include <torch/types.h>

#include <algorithm>

#include "convseq/base/error.h"
#include "convseq/base/log.h"

#ifdef CONVSEQ_TORCH_CUDA
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

namespace convseq {
namespace {

int64_t reserved_bytes(c10::DeviceIndex device) {
  using c10::CachingAllocator::StatType;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
  return stats.reserved_bytes[static_cast<size_t>(StatType::AGGREGATE)].current;
}

}  // namespace

struct GraphStream::Impl {
  c10::cuda::CUDAStream stream;
  c10::MempoolId_t pool = at::cuda::graph_pool_handle();
  int64_t pool_bytes = 0;
};

GraphStream::GraphStream(torch::Device device)
    : impl_(new Impl{c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())}) {}

GraphStream::~GraphStream() = default;

void GraphStream::run(const std::function<void()>& work) {
  at::cuda::CUDAEvent before;
  before.record(c10::cuda::getCurrentCUDAStream(impl_->stream.device_index()));
  before.block(impl_->stream);
  const c10::cuda::CUDAStreamGuard guard(impl_->stream);
  work();
}

// An error of the device is reported by the next call that needs its results.
void GraphStream::wait() const noexcept {
  try {
    impl_->stream.synchronize();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

int64_t GraphStream::pool_bytes() const { return impl_->pool_bytes; }

struct DeviceGraph::Impl {
  GraphStream::Impl& on;
  std::unique_ptr<at::cuda::CUDAGraph> graph = nullptr;
};

DeviceGraph::DeviceGraph(GraphStream& stream) : impl_(new Impl{*stream.impl_}) {}

bool DeviceGraph::capture(const std::function<void()>& work) {
  GraphStream::Impl& on = impl_->on;
  on.stream.synchronize();
  // Launched work has left its memory in another pool: it is given back before this one grows.
  c10::cuda::CUDACachingAllocator::emptyCache();
  const int64_t before = reserved_bytes(on.stream.device_index());
  const c10::cuda::CUDAStreamGuard guard(on.stream);
  auto graph = std::make_unique<at::cuda::CUDAGraph>();
  try {
    graph->capture_begin(on.pool);
    work();
    graph->capture_end();
  } catch (const std::exception& error) {
    log::warning(
        "a step could not be captured as a CUDA graph, so every kernel is launched separately: {}",
        error.what());
    try {
      graph->capture_end();
    } catch (const std::exception&) {  // the capture is void already
    }
    c10::cuda::device_synchronize();  // throws the error of a GPU that no longer works
    return false;
  }
  on.pool_bytes += std::max<int64_t>(reserved_bytes(on.stream.device_index()) - before, 0);
  impl_->graph = std::move(graph);
  return true;
}

bool DeviceGraph::is_captured() const { return impl_->graph != nullptr; }

void DeviceGraph::replay() {
  const c10::cuda::CUDAStreamGuard guard(impl_->on.stream);
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

struct GraphStream::Impl {};
struct DeviceGraph::Impl {};

GraphStream::GraphStream(torch::Device) { fail("CUDA graph: this build has no CUDA"); }
GraphStream::~GraphStream() = default;
void GraphStream::run(const std::function<void()>& work) { work(); }
void GraphStream::wait() const noexcept {}
int64_t GraphStream::pool_bytes() const { return 0; }

DeviceGraph::DeviceGraph(GraphStream&) {}
bool DeviceGraph::capture(const std::function<void()>&) { return false; }
bool DeviceGraph::is_captured() const { return false; }
void DeviceGraph::replay() {}

HostCopy::HostCopy(const torch::Tensor& from) : there_(from.cpu()) {}
torch::Tensor HostCopy::wait() const { return there_; }

}  // namespace convseq

#endif

namespace convseq {

DeviceGraph::~DeviceGraph() = default;
DeviceGraph::DeviceGraph(DeviceGraph&&) noexcept = default;
DeviceGraph& DeviceGraph::operator=(DeviceGraph&&) noexcept = default;

}  // namespace convseq
