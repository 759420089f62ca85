#include "ops/attention.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace convseq::ops {
namespace {

// True where query i (the last Tq of Tk positions) may look at key j.
torch::Tensor causal_mask(int64_t queries, int64_t keys, torch::Device device) {
  return torch::ones({queries, keys}, torch::TensorOptions(torch::kBool).device(device))
      .tril(keys - queries);
}

// cuDNN makes a plan for each number of keys: of one query, which comes with ever more of them, the
// plans would take longer than the attention.
class WithoutCudnn {
 public:
  WithoutCudnn() { at::globalContext().setSDPUseCuDNN(false); }
  ~WithoutCudnn() { at::globalContext().setSDPUseCuDNN(was_); }
  WithoutCudnn(const WithoutCudnn&) = delete;
  WithoutCudnn& operator=(const WithoutCudnn&) = delete;

 private:
  bool was_ = at::globalContext().userEnabledCuDNNSDP();
};

}  // namespace

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  const int64_t queries = q.size(2), keys = k.size(2);
  // Without a bias and from the first position on, the fused kernels know causality themselves.
  const bool native_causal =
      options.causal && !bias.defined() && key_lengths.all_full() && queries == keys;
  torch::Tensor visible;  // bool, broadcasts to [B,H,Tq,Tk]
  if (options.causal && !native_causal && queries > 1) {
    visible = causal_mask(queries, keys, q.device());
  }
  if (!key_lengths.all_full()) {
    const auto real = key_lengths.mask(keys).unsqueeze(1).unsqueeze(1);
    visible = visible.defined() ? visible & real : real;
  }
  std::optional<torch::Tensor> mask;
  if (bias.defined()) {
    mask = visible.defined() ? bias.masked_fill(~visible, -std::numeric_limits<double>::infinity())
                             : bias;
  } else if (visible.defined()) {
    mask = visible;
  }
  std::optional<WithoutCudnn> without;
  if (queries == 1 && q.is_cuda()) without.emplace();
  return at::scaled_dot_product_attention(q, k, v, mask, options.dropout, native_causal,
                                          /*scale=*/1.0);
}

torch::Tensor relative_buckets(int64_t queries, int64_t keys, const BucketOptions& options,
                               torch::Device device) {
  const auto integers = torch::TensorOptions(torch::kInt64).device(device);
  const auto query = torch::arange(keys - queries, keys, integers).unsqueeze(1);
  const auto key = torch::arange(keys, integers).unsqueeze(0);
  auto distance = key - query;  // negative: the key stands to the left
  auto bucket = torch::zeros_like(distance);
  int64_t buckets = options.buckets;
  if (options.bidirectional) {
    buckets /= 2;
    bucket = (distance > 0).to(torch::kInt64) * buckets;
    distance = distance.abs();
  } else {
    distance = (-distance).clamp_min(0);
  }
  const int64_t exact = buckets / 2;
  const double spread =
      std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact));
  const auto ratio = distance.clamp_min(1).to(torch::kFloat32) / static_cast<float>(exact);
  const auto logarithmic =
      exact + (ratio.log() / spread * static_cast<double>(buckets - exact)).to(torch::kInt64);
  return bucket + torch::where(distance < exact, distance, logarithmic.clamp_max(buckets - 1));
}

torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets) {
  if (!table.is_cuda()) return at::embedding(table, buckets);
  const auto rows = torch::arange(table.size(0), buckets.options());
  const auto chosen = (buckets.unsqueeze(-1) == rows).to(table.scalar_type());
  return chosen.matmul(table);  // one 1 in each row: exact
}

}  // namespace convseq::ops
