#include "convseq/dist/rendezvous.h"

#include <chrono>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "convseq/base/error.h"

namespace convseq {
namespace {

uint16_t port_of(const std::string& text) {
  const auto port = number_of(text);
  require(port && *port > 0 && *port < 65536, "MASTER_PORT is \"{}\"; allowed: 1 to 65535", text);
  return static_cast<uint16_t>(*port);
}

}  // namespace

std::string share_over_tcp(const std::string& bytes, const Launch& launch,
                           const Environment& environment) {
  const auto host = environment("MASTER_ADDR"), port = environment("MASTER_PORT");
  require(host && port, "{} processes, but MASTER_ADDR and MASTER_PORT do not say where rank 0 is",
          launch.size);
  // torchrun may hold the port with a store of its own, which outlives a restart of the processes.
  const bool served = environment("TORCHELASTIC_USE_AGENT_STORE").value_or("") == "True";
  const std::string key = "convseq/" + environment("TORCHELASTIC_RESTART_COUNT").value_or("0");

  c10d::TCPStore store(*host, c10d::TCPStoreOptions{.port = port_of(*port),
                                                    .isServer = launch.rank == 0 && !served,
                                                    .numWorkers = launch.size});
  const std::string count = key + "/read";
  if (launch.rank == 0) store.set(key, std::vector<uint8_t>(bytes.begin(), bytes.end()));
  const std::vector<uint8_t> shared = store.get(key);
  store.add(count, 1);
  // The store ends with rank 0, so rank 0 waits until every process has read.
  while (launch.rank == 0 && store.add(count, 0) < launch.size) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {shared.begin(), shared.end()};
}

}  // namespace convseq
