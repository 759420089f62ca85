#include "convseq/bench/cpu/cpu_peers.h"

namespace convseq::bench {
namespace {

constexpr const char* kPeerScript = "bench/peer_cpu.py";
constexpr const char* kTransformer = "transformer";

bool does_the_work_of(const CpuPeer& peer, const CpuSpeed& speed) {
  return peer.d_model == speed.d_model && peer.layers == speed.layers &&
         peer.batch == speed.batch && peer.length == speed.length &&
         peer.new_tokens == speed.new_tokens;
}

// A batch of one is measured for its latency.
bool is_latency(const CpuSpeed& speed) { return speed.batch == 1 && speed.new_tokens == 0; }

Row compared(std::string name, const CpuSpeed& speed, const std::optional<CpuPeer>& peer) {
  Row row{.name = std::move(name),
          .value = speed.new_tokens > 0 ? speed.tokens_per_second() : speed.examples_per_second(),
          .unit = speed.new_tokens > 0 ? "tokens/s" : "examples/s"};
  if (is_latency(speed)) {
    row.value = speed.ms;
    row.unit = "ms";
  }
  if (peer) {
    row.peer = peer->name;
    row.peer_value = is_latency(speed) ? peer->ms : peer->per_second;
    row.ratio = row.value / *row.peer_value;
  }
  return row;
}

}  // namespace

std::vector<CpuPeer> read_cpu_peers(const std::filesystem::path& path) {
  std::vector<CpuPeer> peers;
  for (const JsonObject& json : read_peer_lines(path, kPeerScript)) {
    const bool generates = json.has("new_tokens");
    const auto precision = json.get<CpuPrecision>("precision");
    const auto model = json.get<std::string>("model");
    peers.push_back(
        {.name = fmt::format("{} {}{}", json.get<std::string>("peer"), name_of(precision),
                             model == kTransformer ? "" : fmt::format(", {} graph", model)),
         .model = model,
         .precision = precision,
         .d_model = json.get<int64_t>("d_model"),
         .layers = json.get<int64_t>("layers"),
         .threads = json.get<int64_t>("threads"),
         .batch = json.get<int64_t>("batch"),
         .length = json.get<int64_t>(generates ? "source" : "length"),
         .new_tokens = json.get_or<int64_t>("new_tokens", 0),
         .per_second = json.get<double>(generates ? "tokens_per_second" : "examples_per_second"),
         .ms = json.get<double>("ms")});
  }
  return peers;
}

std::optional<CpuPeer> fastest_peer(const std::vector<CpuPeer>& peers, const CpuSpeed& speed,
                                    const PeerFilter& filter) {
  std::optional<CpuPeer> fastest;
  for (const CpuPeer& peer : peers) {
    if (!does_the_work_of(peer, speed)) continue;
    if (!filter.model.empty() && peer.model != filter.model) continue;
    if (filter.precision && peer.precision != *filter.precision) continue;
    if (!fastest || peer.per_second > fastest->per_second) fastest = peer;
  }
  return fastest;
}

std::vector<Row> rows_of(const CpuSpeed& speed, const std::vector<CpuPeer>& peers) {
  const std::string name = row_name(speed);
  std::vector<Row> rows = {
      compared(name, speed, fastest_peer(peers, speed, {.model = kTransformer}))};
  if (const auto peer = fastest_peer(peers, speed, {.model = speed.mixer})) {
    rows.push_back(compared(name + "_same_graph", speed, peer));
  }
  if (speed.precision != CpuPrecision::Fp32) return rows;
  if (const auto peer = fastest_peer(peers, speed, {.precision = CpuPrecision::Fp32})) {
    rows.push_back(compared(name + "_fp32_peer", speed, peer));
  }
  return rows;
}

}  // namespace convseq::bench
