#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "convseq/dist/launch.h"

namespace convseq {

// Collective communication between the processes of one training run. Every process makes the same
// calls in the same order. Sums are deterministic: bit for bit the same on every process and in
// every run.
class Communicator {
 public:
  // A reduction under way. Its tensors are neither read nor written before wait() returns; on a GPU
  // wait() orders the current stream after the reduction and does not block the host.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
  };

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // In-place sum over all processes, tensor by tensor. The tensors must be contiguous.
  virtual std::unique_ptr<Pending> start_all_reduce_sum(std::vector<torch::Tensor> tensors) = 0;
  void all_reduce_sum(std::vector<torch::Tensor> tensors) {
    start_all_reduce_sum(std::move(tensors))->wait();
  }
  virtual void broadcast(torch::Tensor tensor, int root) = 0;  // contiguous, any type
  virtual void barrier() = 0;

  // Advances pending reductions, for backends that only progress within calls. Cheap.
  virtual void progress() {}

  // Prints a line with this process's rank and the reason, and ends every process of the run.
  [[noreturn]] virtual void end_all(std::string_view why) = 0;
};

// Runs one process's part of a run. If there are several processes, an exception ends all of them:
// the others would otherwise wait for ever. `describe` turns it into the line that end_all()
// prints.
using DescribeException = std::function<std::string(const std::exception&)>;
void run_together(
    Communicator& communicator, const std::function<void()>& part,
    const DescribeException& describe = [](const std::exception& error) { return error.what(); });

// NCCL for a GPU, MPI for the CPU, neither for one process. Fails if several processes were started
// but this build or the launcher cannot connect them. Call it once per process.
std::unique_ptr<Communicator> make_communicator(torch::Device device,
                                                const Launch& launch = find_launch());

// The three implementations. MPI and NCCL are optional at build time: without them these throw.
std::unique_ptr<Communicator> make_single_communicator();
std::unique_ptr<Communicator> make_mpi_communicator(const Launch& launch);
std::unique_ptr<Communicator> make_nccl_communicator(torch::Device device, const Launch& launch);

}  // namespace convseq
