#include "convseq/dist/communicator.h"

#include "convseq/base/error.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
using testing::message_of;

TEST(Communicator, OfOneProcessLeavesEverythingAsItIs) {
  const auto communicator = make_communicator(torch::kCPU, Launch{});
  const auto tensor = torch::arange(5.0);
  communicator->all_reduce_sum({tensor});
  communicator->broadcast(tensor, 0);
  communicator->barrier();
  EXPECT_EQ(communicator->rank(), 0);
  EXPECT_EQ(communicator->size(), 1);
  EXPECT_TRUE(torch::equal(tensor, torch::arange(5.0)));
}

TEST(Communicator, OfOneProcessPassesAnErrorOn) {
  const auto communicator = make_single_communicator();
  EXPECT_EQ(message_of<Error>([&] { run_together(*communicator, [] { fail("no data"); }); }),
            "no data");
}

TEST(Communicator, RefusesProcessesThatNothingJoins) {
  const Launch launch{.launcher = Launcher::Torchrun, .rank = 1, .size = 4};
  const std::string message = message_of<Error>([&] { make_communicator(torch::kCPU, launch); });
  EXPECT_NE(message.find("4 processes"), message.npos) << message;
  EXPECT_NE(message.find("torchrun"), message.npos) << message;
}

TEST(GpuCommunicator, NcclWithOneProcessSumsOnItsOwnStream) {
  ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
  const auto communicator = make_nccl_communicator(torch::kCUDA, Launch{});
  const torch::Device device(torch::kCUDA, 0);
  for (const auto dtype : {torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kInt64}) {
    const auto tensor = torch::zeros({1 << 20}, torch::TensorOptions(device).dtype(dtype));
    for (int step = 1; step <= 20; ++step) {
      tensor.add_(1);
      communicator->all_reduce_sum({tensor, tensor.clone()});
      communicator->broadcast(tensor, 0);
    }
    communicator->barrier();
    EXPECT_TRUE((tensor == 20).all().item<bool>()) << dtype;
  }
}

}  // namespace convseq
