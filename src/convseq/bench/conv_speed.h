#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/timing.h"
#include "convseq/bench/watch.h"

namespace convseq::bench {

enum class ConvOp { Light, Glu, Dynamic, Depthwise, Dilated };

}  // namespace convseq::bench

namespace convseq {

template <>
inline constexpr auto kEnumNames<bench::ConvOp> =
    std::to_array<EnumName<bench::ConvOp>>({{bench::ConvOp::Light, "light_conv"},
                                            {bench::ConvOp::Glu, "glu_conv"},
                                            {bench::ConvOp::Dynamic, "dynamic_conv"},
                                            {bench::ConvOp::Depthwise, "depthwise_conv"},
                                            {bench::ConvOp::Dilated, "dilated_conv"}});

namespace bench {

struct ConvSpeedOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype type = torch::kFloat32;
  int64_t batch = 8;
  int64_t time = 512;
  int64_t channels = 768;
  int64_t heads = 12;
  int64_t dilation = 2;  // of dilated_conv
  std::vector<int64_t> kernels = {7};
  std::vector<ConvOp> ops = {ConvOp::Light, ConvOp::Glu, ConvOp::Dynamic, ConvOp::Depthwise,
                             ConvOp::Dilated};
  bool peers = true;
  int64_t cache = 0;  // buffers rotate over more bytes than this
  TimingOptions timing;
  double max_memory = 0;  // bytes; 0: the free memory
  Watch watch = go_on;
};

struct ConvSpeed {
  std::string name;  // "light_conv_forward_k7"
  double ms = 0;
  double bytes = 0;           // of every input and output, moved once
  double copy_bandwidth = 0;  // of copies that alternate with this op
  std::string peer;
  std::optional<double> peer_ms;

  double bandwidth() const { return 1e3 * bytes / ms; }  // bytes per second
  double floor_ms() const { return 1e3 * bytes / copy_bandwidth; }
};

// Times forward, backward, and both together where there is a peer. Each op is first checked
// against its reference in float64.
std::vector<ConvSpeed> measure_convs(const ConvSpeedOptions& options);

double median_copy_bandwidth(const std::vector<ConvSpeed>& speeds);
std::vector<Row> rows_of(const std::vector<ConvSpeed>& speeds);

}  // namespace bench
}  // namespace convseq
