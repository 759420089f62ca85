#pragma once

#include "convseq/dist/communicator.h"

namespace convseq {

struct GradientBucketsOptions {
  double megabytes = 25;  // of one bucket: small enough to start early, large enough to be fast
  bool overlap = true;    // false: everything is summed in finish()
  // The fp32 master of each parameter, or empty. With masters, the sums over all processes are
  // added to the masters' fp32 gradients, and the parameters keep none.
  std::vector<torch::Tensor> masters = {};
};

// Sums the gradients of all processes while the backward pass goes on:
//
//   buckets.start();   // before the backward pass that completes the gradients, that is the
//   loss.backward();   // last one of an accumulation; earlier ones only add up
//   buckets.finish();  // gradient = sum over the processes
//
// Buckets follow the order of the backward pass, last registered parameters first, and are sent in
// one fixed order, so that the processes agree and a run is reproducible bit for bit. A parameter
// without a gradient counts as zero if another process has one, and stays without one if none has.
// With one process nothing is left to do, and a failed backward pass may be repeated.
class GradientBuckets {
 public:
  // Parameters that need no gradient are ignored. The communicator must outlive this object.
  GradientBuckets(Communicator& communicator, const std::vector<torch::Tensor>& parameters,
                  GradientBucketsOptions options = {});
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  void start();
  void finish();

  size_t bucket_count() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::vector<torch::Tensor> parameters;
    std::vector<torch::Tensor> masters;  // or empty
    torch::Tensor flat;  // all gradients, then per parameter the number of processes that have one
    std::vector<torch::Tensor> slices;  // of `flat`, shaped as the parameters
    torch::Tensor present;              // the end of `flat`
    std::vector<bool> ready;
    size_t missing = 0;  // gradients that are not ready
    std::unique_ptr<Communicator::Pending> pending;
  };

  void allocate(Bucket& bucket) const;
  void gradient_is_ready(size_t bucket, size_t slot);
  void send(Bucket& bucket);
  void receive(Bucket& bucket);

  Communicator& communicator_;
  GradientBucketsOptions options_;
  std::vector<Bucket> buckets_;
  size_t next_ = 0;  // the first bucket not sent
  bool started_ = false;
};

}  // namespace convseq
