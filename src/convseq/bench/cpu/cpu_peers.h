#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/cpu/cpu_speed.h"

namespace convseq::bench {

// One result of bench/peer_cpu.py.
struct CpuPeer {
  std::string name;   // "ONNX Runtime int8", "ONNX Runtime int8, light graph"
  std::string model;  // "transformer", or the mixer of the same graph
  CpuPrecision precision{};
  int64_t d_model = 0, layers = 0, threads = 0;
  int64_t batch = 0, length = 0;
  int64_t new_tokens = 0;  // 0: encoder with pooled head
  double per_second = 0;   // examples, or generated tokens
  double ms = 0;           // per call
};

std::vector<CpuPeer> read_cpu_peers(const std::filesystem::path& path);

// The fastest peer with the dimensions and the work of `speed`.
struct PeerFilter {
  std::string model = "";                                // empty: any
  std::optional<CpuPrecision> precision = std::nullopt;  // none: any
};
std::optional<CpuPeer> fastest_peer(const std::vector<CpuPeer>& peers, const CpuSpeed& speed,
                                    const PeerFilter& filter);

// Against the fastest Transformer of any precision, against the same graph in another runtime, and
// in fp32 against the fastest peer in fp32. Of batches of one, the ratio is of latencies.
std::vector<Row> rows_of(const CpuSpeed& speed, const std::vector<CpuPeer>& peers);

}  // namespace convseq::bench
