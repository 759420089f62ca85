#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "convseq/dist/launch.h"

namespace convseq {

// What the processes of one training run say to each other. Every process makes the same calls in
// the same order; the same numbers give the same sums, bit for bit, on every process and every
// time.
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

  // Each tensor becomes the sum of its like on all processes, in place. Contiguous tensors.
  virtual std::unique_ptr<Pending> start_all_reduce_sum(std::vector<torch::Tensor> tensors) = 0;
  void all_reduce_sum(std::vector<torch::Tensor> tensors) {
    start_all_reduce_sum(std::move(tensors))->wait();
  }
  virtual void broadcast(torch::Tensor tensor, int root) = 0;  // contiguous, any type
  virtual void barrier() = 0;

  // Lets reductions under way move on, where they only do so within calls. Cheap.
  virtual void progress() {}

  // Ends every process of the run, after a line that names this one and says why.
  [[noreturn]] virtual void end_all(std::string_view why) = 0;
};

// Runs one process's part of a run. What it throws ends all processes where there are several: the
// others would wait for this one for ever.
void run_together(Communicator& communicator, const std::function<void()>& part);

// NCCL for a GPU, MPI for the CPU, neither for one process. Fails where several processes were
// started but this build, or the launcher, has no way to join them. Once a process.
std::unique_ptr<Communicator> make_communicator(torch::Device device,
                                                const Launch& launch = find_launch());

// The three behind it. MPI and NCCL are optional at build time: without them these throw.
std::unique_ptr<Communicator> make_single_communicator();
std::unique_ptr<Communicator> make_mpi_communicator(const Launch& launch);
std::unique_ptr<Communicator> make_nccl_communicator(torch::Device device, const Launch& launch);

}  // namespace convseq
