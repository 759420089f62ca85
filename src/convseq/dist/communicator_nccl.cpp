#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>

#include "convseq/base/error.h"
#include "convseq/base/log.h"
#include "convseq/dist/communicator.h"
#include "convseq/dist/rendezvous.h"

namespace convseq {
namespace {

void check(ncclResult_t result, const char* doing) {
  require(result == ncclSuccess, "NCCL cannot {}: {}; NCCL_DEBUG=INFO says more", doing,
          ncclGetErrorString(result));
}

ncclDataType_t nccl_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return ncclFloat32;
    case torch::kFloat64:
      return ncclFloat64;
    case torch::kBFloat16:
      return ncclBfloat16;
    case torch::kInt64:
      return ncclInt64;
    default:
      TORCH_CHECK(false, "NCCL sums float32, float64, bfloat16 and int64 here, not ", type);
  }
}

// Rank 0's id, sent over MPI if it is available, else over torchrun's TCP store.
void share(ncclUniqueId& id, const Launch& launch, Communicator* over_mpi) {
  if (launch.size == 1) return;
  if (over_mpi != nullptr) {
    over_mpi->broadcast(torch::from_blob(id.internal, {sizeof id.internal}, torch::kUInt8), 0);
    return;
  }
  const std::string bytes = share_over_tcp({id.internal, sizeof id.internal}, launch);
  require(bytes.size() == sizeof id.internal, "the store at MASTER_ADDR holds no NCCL id");
  std::memcpy(id.internal, bytes.data(), bytes.size());
}

class NcclCommunicator final : public Communicator {
 public:
  // `over_mpi` carried the id, where there is one, and ends all processes when one fails.
  NcclCommunicator(torch::Device device, const Launch& launch,
                   std::unique_ptr<Communicator> over_mpi)
      : launch_(launch),
        device_(device),
        over_mpi_(std::move(over_mpi)),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())) {
    const c10::cuda::CUDAGuard guard(device_);
    ncclUniqueId id{};
    if (launch.rank == 0) check(ncclGetUniqueId(&id), "make an id");
    share(id, launch, over_mpi_.get());
    check(ncclCommInitRank(&comm_, launch.size, id, launch.rank), "join the processes");
  }

  ~NcclCommunicator() override {
    // Destruction waits for the other processes; a process that fails must not wait.
    if (std::uncaught_exceptions() == 0) {
      ncclCommDestroy(comm_);
    } else {
      ncclCommAbort(comm_);
    }
  }

  int rank() const override { return launch_.rank; }
  int size() const override { return launch_.size; }

  std::unique_ptr<Pending> start_all_reduce_sum(std::vector<torch::Tensor> tensors) override {
    enter(tensors);
    check(ncclGroupStart(), "start a group");
    for (const torch::Tensor& tensor : tensors) {
      check(ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), static_cast<size_t>(tensor.numel()),
                          nccl_type(tensor.scalar_type()), ncclSum, comm_, stream_),
            "sum");
    }
    check(ncclGroupEnd(), "sum");
    return leave();
  }

  void broadcast(torch::Tensor tensor, int root) override {
    enter({tensor});
    check(ncclBroadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes(), ncclUint8, root,
                        comm_, stream_),
          "broadcast");
    leave()->wait();
  }

  void barrier() override {
    const auto one = torch::ones({1}, torch::TensorOptions(device_).dtype(torch::kInt64));
    all_reduce_sum({one});
    one.item<int64_t>();  // the host, too, waits
  }

  void end_all(std::string_view why) override {
    if (over_mpi_) over_mpi_->end_all(why);
    log::error("process {} of {}: {}; the launcher ends the others", rank(), size(), why);
    std::_Exit(2);  // no destructors: they would wait for the others
  }

 private:
  struct Event final : Pending {
    explicit Event(c10::cuda::CUDAStream stream) { event.record(stream); }
    void wait() override { event.block(c10::cuda::getCurrentCUDAStream(event.device_index())); }
    at::cuda::CUDAEvent event;
  };

  // From here on our stream waits for the work that the caller's stream has queued.
  void enter(const std::vector<torch::Tensor>& tensors) {
    for (const torch::Tensor& tensor : tensors) {
      TORCH_CHECK(tensor.device() == device_ && tensor.is_contiguous(),
                  "NCCL takes contiguous tensors on ", device_);
      c10::cuda::CUDACachingAllocator::recordStream(tensor.storage().data_ptr(), stream_);
    }
    at::cuda::CUDAEvent event;
    event.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    event.block(stream_);
  }
  std::unique_ptr<Pending> leave() const { return std::make_unique<Event>(stream_); }

  Launch launch_;
  torch::Device device_;
  std::unique_ptr<Communicator> over_mpi_;
  c10::cuda::CUDAStream stream_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(torch::Device device, const Launch& launch) {
  if (!device.has_index()) device.set_index(static_cast<c10::DeviceIndex>(launch.local_rank));
  require(device.index() < torch::cuda::device_count(),
          "process {} wants GPU {}, but this machine has {}; start one process per GPU",
          launch.rank, static_cast<int>(device.index()), torch::cuda::device_count());
  const bool mpi = launch.launcher == Launcher::Mpirun || launch.launcher == Launcher::Srun;
  return std::make_unique<NcclCommunicator>(device, launch,
                                            mpi ? make_mpi_communicator(launch) : nullptr);
}

}  // namespace convseq
