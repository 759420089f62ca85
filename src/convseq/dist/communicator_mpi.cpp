#include <mpi.h>

#include <exception>

#include "convseq/base/error.h"
#include "convseq/base/log.h"
#include "convseq/dist/communicator.h"

namespace convseq {
namespace {

constexpr int64_t kMostAtOnce = int64_t{1} << 30;  // MPI counts in int

MPI_Datatype mpi_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat32:
      return MPI_FLOAT;
    case torch::kFloat64:
      return MPI_DOUBLE;
    case torch::kInt64:
      return MPI_INT64_T;
    default:
      TORCH_CHECK(false, "MPI sums float32, float64 and int64, not ", type);
  }
}

// Calls act(pointer, count) for pieces that MPI can count.
template <class Act>
void in_pieces(const torch::Tensor& tensor, int64_t count, Act act) {
  TORCH_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "MPI takes contiguous CPU tensors");
  auto* bytes = static_cast<char*>(tensor.data_ptr());
  const int64_t size = count > 0 ? static_cast<int64_t>(tensor.nbytes()) / count : 0;
  for (int64_t done = 0; done < count; done += kMostAtOnce) {
    act(bytes + done * size, static_cast<int>(std::min(kMostAtOnce, count - done)));
  }
}

// An error inside MPI ends all processes with MPI's own message, which is MPI's default.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    // Backward passes may call from autograd's threads, one at a time.
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
    require(given >= MPI_THREAD_SERIALIZED, "this MPI serves the main thread alone");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  ~MpiCommunicator() override {
    // Finalising waits for the others. A process that fails must not: it exits, and mpirun ends
    // them.
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::unique_ptr<Pending> start_all_reduce_sum(std::vector<torch::Tensor> tensors) override {
    auto pending = std::make_unique<Requests>();
    for (const torch::Tensor& tensor : tensors) {
      const MPI_Datatype type = mpi_type(tensor.scalar_type());
      in_pieces(tensor, tensor.numel(), [&](char* data, int count) {
        MPI_Iallreduce(MPI_IN_PLACE, data, count, type, MPI_SUM, MPI_COMM_WORLD,
                       &pending->requests.emplace_back());
      });
    }
    pending->tensors = std::move(tensors);
    return pending;
  }

  void broadcast(torch::Tensor tensor, int root) override {
    in_pieces(tensor, static_cast<int64_t>(tensor.nbytes()), [&](char* data, int count) {
      MPI_Bcast(data, count, MPI_BYTE, root, MPI_COMM_WORLD);
    });
  }

  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

  // Open MPI has no progress thread; any call advances all pending operations.
  void progress() override {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }

  void end_all(std::string_view why) override {
    log::error("process {} of {}: {}; all processes end", rank_, size_, why);
    MPI_Abort(MPI_COMM_WORLD, 2);
    std::abort();
  }

 private:
  struct Requests final : Pending {
    void wait() override {
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    std::vector<torch::Tensor> tensors;  // kept alive until they are summed
    std::vector<MPI_Request> requests;
  };

  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(const Launch& launch) {
  require(launch.launcher != Launcher::Torchrun,
          "torchrun started {} processes on the CPU, where MPI joins them; start them with mpirun",
          launch.size);
  auto communicator = std::make_unique<MpiCommunicator>();
  require(communicator->size() == launch.size,
          "{} started {} processes, but MPI sees {}; with srun, try --mpi=pmix",
          name_of(launch.launcher), launch.size, communicator->size());
  return communicator;
}

}  // namespace convseq
