#include "convseq/train/step/captured_steps.h"

#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "convseq/ops/linear.h"

namespace convseq {
namespace {

constexpr size_t kMostCountedShapes = 4096;  // data without recurring shapes must not fill memory

}  // namespace

CapturedSteps::CapturedSteps(torch::Device device, const CaptureOptions& options, Step step)
    : device_(device), options_(options), step_(std::move(step)), stream_(device) {}

HostCopy CapturedSteps::run(const StepInputs& on_host) {
  std::optional<HostCopy> sums;
  stream_.run([&] {
    const Shape shape = on_host.shape();
    // Libraries set themselves up in the first steps, which cannot be captured.
    const int64_t launches_before = options_.tune_matmuls ? 2 : 1;
    auto found = captured_.find(shape);
    if (found == captured_.end() && captures_ && launches_[shape] >= launches_before &&
        capture(shape, on_host)) {
      found = captured_.find(shape);
    }
    replayed_last_ = found != captured_.end();
    sums.emplace(replayed_last_ ? replay(found->second, on_host)
                                : launch(on_host, launches_[shape]++));
  });
  if (launches_.size() > kMostCountedShapes) launches_.clear();
  return *sums;
}

torch::Tensor CapturedSteps::replay(Captured& captured, const StepInputs& on_host) {
  captured.inputs.copy_from(on_host.pinned());
  captured.graph.replay();
  captured.last_use = ++totals_.replayed;
  return captured.sums;
}

torch::Tensor CapturedSteps::launch(const StepInputs& on_host, int64_t earlier_launches) {
  ++totals_.launched;
  std::optional<ops::MatmulTuning> tuning;  // in the last launch before the capture
  if (captures_ && options_.tune_matmuls && earlier_launches == 1) tuning.emplace();
  return step_(on_host.on(device_));
}

bool CapturedSteps::capture(const Shape& shape, const StepInputs& on_host) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::ssize(captured_) >= options_.max_graphs) drop_least_recently_used();
  Captured fresh{.graph = DeviceGraph(stream_), .inputs = on_host.on(device_)};
  captures_ = fresh.graph.capture([&] { fresh.sums = step_(fresh.inputs); });
  if (!captures_) return false;
  captured_.emplace(shape, std::move(fresh));
  launches_.erase(shape);
  ++totals_.captures;
  totals_.seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return true;
}

void CapturedSteps::drop_least_recently_used() {
  const auto used_earlier = [](const auto& a, const auto& b) {
    return a.second.last_use < b.second.last_use;
  };
  captured_.erase(std::min_element(captured_.begin(), captured_.end(), used_earlier));
}

CaptureTotals CapturedSteps::totals() const {
  CaptureTotals totals = totals_;
  totals.bytes = stream_.pool_bytes();
  return totals;
}

}  // namespace convseq
