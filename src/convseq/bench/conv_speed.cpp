#include "convseq/bench/conv_speed.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/base/error.h"
#include "convseq/bench/device_memory.h"
#include "convseq/ops/conv.h"
#include "convseq/ops/reference/conv.h"

namespace convseq::bench {
namespace {

using torch::autograd::variable_list;

// One op at one kernel size.
class Case {
 public:
  Case(ConvOp op, int64_t kernel, const ConvSpeedOptions& options)
      : op_(op),
        options_(options),
        geometry_{.kernel = kernel, .dilation = op == ConvOp::Dilated ? options.dilation : 1} {}

  std::string name(const char* direction) const {
    return fmt::format("{}_{}_k{}", name_of(op_), direction, geometry_.kernel);
  }
  int64_t kernel() const { return geometry_.kernel; }
  int64_t dilation() const { return geometry_.dilation; }
  int64_t width() const { return glu() ? 2 * options_.channels : options_.channels; }
  int64_t heads() const { return op_ == ConvOp::Depthwise ? options_.channels : options_.heads; }
  bool glu() const { return op_ == ConvOp::Glu; }
  bool dynamic() const { return op_ == ConvOp::Dynamic; }

  // x, and the taps: their logits at every position where the op is dynamic.
  variable_list inputs() const {
    const auto x = random({options_.batch, options_.time, width()});
    if (dynamic()) return {x, random({options_.batch, options_.time, heads() * kernel()})};
    return {x, ops::tap_softmax(random({heads(), kernel()}).detach()).detach().requires_grad_()};
  }
  torch::Tensor gradient() const {
    return random({options_.batch, options_.time, options_.channels}).detach();
  }

  torch::Tensor forward(const variable_list& in) const {
    if (dynamic()) return ops::dynamic_conv(in[0], in[1], {}, geometry_);
    return glu() ? ops::glu_conv(in[0], in[1], {}, geometry_)
                 : ops::conv(in[0], in[1], {}, geometry_);
  }

  torch::Tensor reference(const variable_list& in) const {
    if (dynamic()) {
      const auto logits = in[1].unflatten(-1, {heads(), kernel()});
      return ops::reference::dynamic_conv(in[0], logits, {}, geometry_);
    }
    return glu() ? ops::reference::glu_conv(in[0], in[1], {}, geometry_)
                 : ops::reference::conv(in[0], in[1], {}, geometry_);
  }

  // Every input and output once: x and y; x, dy and dx; beside them the taps and their gradient.
  double forward_bytes() const {
    return element() * (tokens() * static_cast<double>(width() + options_.channels) + taps());
  }
  double backward_bytes() const {
    return element() *
           (tokens() * static_cast<double>(2 * width() + options_.channels) + 2 * taps());
  }

 private:
  torch::Tensor random(const std::vector<int64_t>& shape) const {
    const auto values = torch::randn(shape, torch::TensorOptions(options_.device));
    return values.to(options_.type).requires_grad_();
  }
  double element() const { return static_cast<double>(c10::elementSize(options_.type)); }
  double tokens() const {
    return static_cast<double>(options_.batch) * static_cast<double>(options_.time);
  }
  double taps() const {
    return static_cast<double>(heads() * kernel()) * (dynamic() ? tokens() : 1);
  }

  ConvOp op_;
  const ConvSpeedOptions& options_;
  ops::ConvGeometry geometry_;
};

void expect_close(const std::string& name, const torch::Tensor& found,
                  const torch::Tensor& expected) {
  const double tolerance = found.scalar_type() == torch::kBFloat16 ? 2e-2 : 1e-4;
  const double largest = expected.abs().max().item<double>();
  const double difference = (found.to(torch::kFloat64) - expected).abs().max().item<double>();
  TORCH_CHECK(difference <= tolerance * largest, name, " is off by ", difference,
              " where values reach ", largest, "; a wrong result is not timed");
}

// The output and the gradient of x, for the first row of the batch.
void verify(const Case& which, const variable_list& in, const torch::Tensor& dy) {
  variable_list exact;
  for (const auto& each : in) {
    const bool rows = each.dim() == 3;
    exact.push_back((rows ? each.slice(0, 0, 1) : each).detach().to(torch::kFloat64));
    exact.back().requires_grad_();
  }
  const auto y = which.forward(in), expected = which.reference(exact);
  expect_close(which.name("forward"), y.detach().slice(0, 0, 1), expected.detach());
  const auto dx = torch::autograd::grad({y}, {in[0]}, {dy}).front();
  const auto expected_dx =
      torch::autograd::grad({expected}, {exact[0]}, {dy.slice(0, 0, 1).to(torch::kFloat64)});
  expect_close(which.name("backward"), dx.slice(0, 0, 1), expected_dx.front());
}

using Apply = std::function<torch::Tensor(const variable_list&)>;

// One side of the comparison on rotating buffers: what it reads and writes has left the caches
// before the same buffer is used again.
class Contender {
 public:
  Contender(size_t buffers, Apply apply, const std::function<variable_list()>& inputs,
            const std::function<torch::Tensor()>& gradient)
      : apply_(std::move(apply)), written_(buffers) {
    for (size_t i = 0; i < buffers; ++i) {
      inputs_.push_back(inputs());
      outputs_.push_back(apply_(inputs_.back()));
      gradients_.push_back(gradient());
    }
  }

  void forward() {
    const torch::NoGradGuard no_grad;
    const size_t i = next();
    written_[i] = {apply_(inputs_[i])};
  }
  void backward() {
    const size_t i = next();
    written_[i] = torch::autograd::grad({outputs_[i]}, inputs_[i], {gradients_[i]},
                                        /*retain_graph=*/true);
  }

 private:
  size_t next() { return turn_++ % inputs_.size(); }

  Apply apply_;
  std::vector<variable_list> inputs_;
  variable_list outputs_, gradients_;
  std::vector<variable_list> written_;
  size_t turn_ = 0;
};

// libtorch's layout is [B,C,T]; the transpose is not timed.
Contender libtorch_peer(size_t buffers, const Case& which, const ConvSpeedOptions& options) {
  const auto columns = [](const torch::Tensor& x) {
    return x.detach().transpose(1, 2).contiguous();
  };
  const int64_t channels = options.channels;
  const auto apply = [glu = which.glu(), padding = which.kernel() / 2 * which.dilation(),
                      dilation = which.dilation(), channels](const variable_list& in) {
    return torch::conv1d(glu ? torch::glu(in[0], 1) : in[0], in[1], {}, 1, padding, dilation,
                         channels);
  };
  const auto inputs = [&]() -> variable_list {
    const auto weight =
        torch::randn({channels, 1, which.kernel()}, torch::TensorOptions(options.device));
    return {columns(which.inputs()[0]).requires_grad_(), weight.to(options.type).requires_grad_()};
  };
  const auto gradient = [&] { return torch::zeros_like(apply(inputs()).detach()).normal_(); };
  return Contender(buffers, apply, inputs, gradient);
}

size_t buffer_count(const Case& which, const ConvSpeedOptions& options) {
  return static_cast<size_t>(static_cast<double>(options.cache) / which.forward_bytes() + 2);
}

// On a CPU libtorch's depthwise convolution takes minutes in bf16; it has no dynamic convolution.
bool has_peer(const Case& which, const ConvSpeedOptions& options) {
  const bool hopeless = options.device.is_cpu() && options.type == torch::kBFloat16;
  return options.peers && !which.dynamic() && !hopeless;
}

// Inputs, outputs and gradients in each buffer, ours and the peer's.
double held_bytes(const Case& which, const ConvSpeedOptions& options) {
  const double sides = has_peer(which, options) ? 2 : 1;
  return sides * static_cast<double>(buffer_count(which, options)) *
         (which.forward_bytes() + which.backward_bytes());
}

ConvSpeed sum_of(const Case& which, const ConvSpeed& forward, const ConvSpeed& backward) {
  return {.name = which.name("forward_backward"),
          .ms = forward.ms + backward.ms,
          .bytes = forward.bytes + backward.bytes,
          .copy_bandwidth = forward.copy_bandwidth,
          .peer = forward.peer,
          .peer_ms = *forward.peer_ms + *backward.peer_ms};
}

std::vector<ConvSpeed> measure(const Case& which, const ConvSpeedOptions& options, Copy& copy) {
  verify(which, which.inputs(), which.gradient());
  const size_t buffers = buffer_count(which, options);
  Contender ours(
      buffers, [&](const variable_list& in) { return which.forward(in); },
      [&] { return which.inputs(); }, [&] { return which.gradient(); });
  std::vector<Work> works = {[&] { copy.run(); }, [&] { ours.forward(); },
                             [&] { ours.backward(); }};
  std::optional<Contender> peer;
  if (has_peer(which, options)) {
    peer.emplace(libtorch_peer(buffers, which, options));
    works.emplace_back([&] { peer->forward(); });
    works.emplace_back([&] { peer->backward(); });
  }
  const auto ms = milliseconds_of(options.device, works, options.timing);
  std::vector<ConvSpeed> speeds = {
      {.name = which.name("forward"), .ms = ms[1], .bytes = which.forward_bytes()},
      {.name = which.name("backward"), .ms = ms[2], .bytes = which.backward_bytes()}};
  for (size_t i = 0; i < 2; ++i) {
    speeds[i].copy_bandwidth = copy.bandwidth(ms[0]);
    if (!peer) continue;
    speeds[i].peer = which.glu() ? "libtorch glu + depthwise conv1d" : "libtorch depthwise conv1d";
    speeds[i].peer_ms = ms[3 + i];
  }
  if (peer) speeds.push_back(sum_of(which, speeds[0], speeds[1]));
  return speeds;
}

}  // namespace

std::vector<ConvSpeed> measure_convs(const ConvSpeedOptions& options) {
  require(options.heads >= 1 && options.channels % options.heads == 0,
          "bench ops: {} channels do not divide into {} heads", options.channels, options.heads);
  const auto total = static_cast<int64_t>(options.kernels.size() * options.ops.size());
  for (const int64_t kernel : options.kernels) {
    for (const ConvOp op : options.ops) {
      require_device_memory(
          options.device, held_bytes({op, kernel, options}, options),
          fmt::format("bench ops: {} with kernel {}, batch {}, time {} and {} "
                      "channels",
                      name_of(op), kernel, options.batch, options.time, options.channels),
          options.max_memory);
    }
  }
  Copy copy(options.device, options.cache);
  std::vector<ConvSpeed> speeds;
  int64_t done = 0;
  for (const int64_t kernel : options.kernels) {
    for (const ConvOp op : options.ops) {
      const std::string next = fmt::format("{} k{}", name_of(op), kernel);
      if (!options.watch(done++, total, next)) return speeds;
      for (ConvSpeed& speed : measure({op, kernel, options}, options, copy)) {
        speeds.push_back(std::move(speed));
      }
    }
  }
  return speeds;
}

double median_copy_bandwidth(const std::vector<ConvSpeed>& speeds) {
  std::vector<double> values;
  for (const ConvSpeed& speed : speeds) values.push_back(speed.copy_bandwidth);
  return values.empty() ? 0 : median(std::move(values));
}

std::vector<Row> rows_of(const std::vector<ConvSpeed>& speeds) {
  std::vector<Row> rows = {
      {.name = "copy_bandwidth", .value = median_copy_bandwidth(speeds) / 1e9, .unit = "GB/s"}};
  for (const ConvSpeed& speed : speeds) {
    rows.push_back({.name = speed.name,
                    .value = speed.ms,
                    .unit = "ms",
                    .floor = speed.floor_ms(),
                    .peer = speed.peer,
                    .peer_value = speed.peer_ms,
                    .ratio = speed.ms / speed.floor_ms()});
  }
  return rows;
}

}  // namespace convseq::bench
