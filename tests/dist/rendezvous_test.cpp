#include "convseq/dist/rendezvous.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <vector>

#include "convseq/base/error.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;

namespace {

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

Environment environment_with(const std::string& port) {
  return [port](const char* given) -> std::optional<std::string> {
    const std::string name = given;
    if (name == "MASTER_ADDR") return "127.0.0.1";
    if (name == "MASTER_PORT") return port;
    return std::nullopt;
  };
}

}  // namespace

TEST(Rendezvous, EverybodyGetsWhatRankZeroBrought) {
  const Environment environment = environment_with(std::to_string(free_port()));
  const std::string id("\0\1id", 4);
  std::vector<std::future<std::string>> processes;
  for (int rank = 0; rank < 3; ++rank) {
    processes.push_back(std::async(std::launch::async, [&, rank] {
      return share_over_tcp(rank == 0 ? id : "", {.rank = rank, .size = 3}, environment);
    }));
  }
  for (auto& process : processes) EXPECT_EQ(process.get(), id);
}

TEST(Rendezvous, SaysWhatIsMissing) {
  const Launch launch{.rank = 0, .size = 2};
  EXPECT_EQ(message_of<Error>(
                [&] { share_over_tcp("", launch, [](const char*) { return std::nullopt; }); }),
            "2 processes, but MASTER_ADDR and MASTER_PORT do not say where rank 0 is");
  for (const std::string port : {"x", "29500abc"}) {
    EXPECT_EQ(message_of<Error>([&] { share_over_tcp("", launch, environment_with(port)); }),
              "MASTER_PORT is \"" + port + "\"; allowed: 1 to 65535");
  }
}

}  // namespace convseq
