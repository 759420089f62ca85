#include "convseq/dist/gradient_buckets.h"

#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace convseq {
namespace {

// Called by autograd each time a parameter's gradient has been added to.
struct GradientHook final : torch::autograd::PostAccumulateGradHook {
  explicit GradientHook(std::function<void()> given) : act(std::move(given)) {}
  void operator()(const torch::Tensor&) override { act(); }
  std::function<void()> act;
};

// bf16 gradients are summed in fp32, since bf16 sums would lose precision.
torch::ScalarType sum_type(const torch::Tensor& parameter) {
  return parameter.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

bool fit_together(const torch::Tensor& a, const torch::Tensor& b) {
  return sum_type(a) == sum_type(b) && a.device() == b.device();
}

}  // namespace

GradientBuckets::GradientBuckets(Communicator& communicator,
                                 const std::vector<torch::Tensor>& parameters,
                                 GradientBucketsOptions options)
    : communicator_(communicator), options_(std::move(options)) {
  const bool apart = !options_.masters.empty();
  TORCH_CHECK(!apart || options_.masters.size() == parameters.size(),
              "GradientBuckets: ", options_.masters.size(), " masters for ", parameters.size(),
              " parameters");
  if (communicator_.size() == 1) return;

  const double limit = options_.megabytes * 1e6;
  double bytes = 0;
  for (size_t i = parameters.size(); i-- > 0;) {
    const torch::Tensor& each = parameters[i];
    if (!each.requires_grad()) continue;
    const double size =
        static_cast<double>(each.numel()) * static_cast<double>(elementSize(sum_type(each)));
    if (buckets_.empty() || bytes + size > limit ||
        !fit_together(buckets_.back().parameters.back(), each)) {
      buckets_.emplace_back();
      bytes = 0;
    }
    buckets_.back().parameters.push_back(each);
    if (apart) buckets_.back().masters.push_back(options_.masters[i]);
    bytes += size;
  }
  for (size_t i = 0; i < buckets_.size(); ++i) {
    allocate(buckets_[i]);
    for (size_t slot = 0; slot < buckets_[i].parameters.size(); ++slot) {
      torch::autograd::impl::set_post_acc_grad_hooks(
          buckets_[i].parameters[slot],
          std::make_unique<GradientHook>([this, i, slot] { gradient_is_ready(i, slot); }));
    }
  }
}

GradientBuckets::~GradientBuckets() {
  for (const Bucket& bucket : buckets_) {
    for (const auto& parameter : bucket.parameters) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
    }
  }
}

void GradientBuckets::allocate(Bucket& bucket) const {
  const auto count = static_cast<int64_t>(bucket.parameters.size());
  int64_t elements = 0;
  for (const auto& parameter : bucket.parameters) elements += parameter.numel();
  const auto& first = bucket.parameters.front();
  bucket.flat =
      torch::empty({elements + count}, first.options().dtype(sum_type(first)).requires_grad(false));
  int64_t begin = 0;
  for (const auto& parameter : bucket.parameters) {
    bucket.slices.push_back(bucket.flat.narrow(0, begin, parameter.numel()).view_as(parameter));
    begin += parameter.numel();
  }
  bucket.present = bucket.flat.narrow(0, elements, count);
}

void GradientBuckets::start() {
  TORCH_CHECK(!started_ || buckets_.empty(), "GradientBuckets: start() twice without finish()");
  started_ = true;
  next_ = 0;
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.ready.assign(bucket.missing, false);
  }
}

void GradientBuckets::gradient_is_ready(size_t index, size_t slot) {
  if (!started_ || !options_.overlap) return;
  Bucket& bucket = buckets_[index];
  TORCH_CHECK(!bucket.pending,
              "GradientBuckets: a gradient changed after it was sent; with a "
              "backward pass within the backward pass, set overlap to false");
  if (!bucket.ready[slot]) --bucket.missing;
  bucket.ready[slot] = true;
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) send(buckets_[next_++]);
  communicator_.progress();
}

void GradientBuckets::send(Bucket& bucket) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> slices, gradients, sums, earlier;
  bucket.present.fill_(1);
  for (size_t slot = 0; slot < bucket.parameters.size(); ++slot) {
    const auto& gradient = bucket.parameters[slot].grad();
    const auto before = bucket.masters.empty() ? torch::Tensor() : bucket.masters[slot].grad();
    if (gradient.defined()) {
      slices.push_back(bucket.slices[slot]);
      gradients.push_back(gradient);
    } else {
      bucket.slices[slot].zero_();
      if (!before.defined()) bucket.present[static_cast<int64_t>(slot)] = 0;
    }
    if (before.defined()) {
      sums.push_back(bucket.slices[slot]);
      earlier.push_back(before);
    }
  }
  if (!slices.empty()) torch::_foreach_copy_(slices, gradients);
  if (!sums.empty()) torch::_foreach_add_(sums, earlier);
  bucket.pending = communicator_.start_all_reduce_sum({bucket.flat});
}

void GradientBuckets::receive(Bucket& bucket) {
  bucket.pending->wait();
  bucket.pending.reset();
  std::vector<torch::Tensor> gradients, slices;
  for (size_t slot = 0; slot < bucket.parameters.size(); ++slot) {
    torch::Tensor& gradient = bucket.parameters[slot].mutable_grad();
    torch::Tensor* master = bucket.masters.empty() ? nullptr : &bucket.masters[slot].mutable_grad();
    const bool had_one = gradient.defined() || (master != nullptr && master->defined());
    // The count is read only if there was no gradient: on a GPU, reading it waits for the sum.
    if (!had_one && bucket.present[static_cast<int64_t>(slot)].item<double>() == 0) continue;
    if (master != nullptr) {
      *master = bucket.slices[slot];  // until the next send()
      gradient.reset();
      continue;
    }
    if (!gradient.defined()) gradient = torch::empty_like(bucket.parameters[slot]);
    gradients.push_back(gradient);
    slices.push_back(bucket.slices[slot]);
  }
  if (!gradients.empty()) torch::_foreach_copy_(gradients, slices);
}

void GradientBuckets::finish() {
  TORCH_CHECK(started_, "GradientBuckets: finish() without start()");
  started_ = false;
  const torch::NoGradGuard no_grad;
  while (next_ < buckets_.size()) send(buckets_[next_++]);
  for (Bucket& bucket : buckets_) receive(bucket);
}

}  // namespace convseq
