#include "convseq/ops/reference/position_buckets.h"

#include <torch/types.h>

#include <cmath>

#include "convseq/ops/embedding.h"

namespace convseq::ops {
namespace {

torch::Tensor buckets_of(torch::Tensor distance, const BucketOptions& options) {
  auto bucket = torch::zeros_like(distance);
  int64_t buckets = options.buckets;
  if (options.bidirectional) {
    buckets /= 2;
    bucket = (distance > 0).to(torch::kInt64) * buckets;
    distance = distance.abs();
  } else {
    distance = (-distance).clamp_min(0);  // keys to the left have negative distances
  }
  const int64_t exact = buckets / 2;
  const double range =
      std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact));
  const auto ratio = distance.clamp_min(1).to(torch::kFloat32) / static_cast<float>(exact);
  const auto logarithmic =
      exact + (ratio.log() / range * static_cast<double>(buckets - exact)).to(torch::kInt64);
  return bucket + torch::where(distance < exact, distance, logarithmic.clamp_max(buckets - 1));
}

}  // namespace

torch::Tensor key_minus_query(int64_t queries, int64_t keys, torch::Device device) {
  const auto integers = torch::TensorOptions(torch::kInt64).device(device);
  return torch::arange(keys, integers).unsqueeze(0) -
         torch::arange(keys - queries, keys, integers).unsqueeze(1);
}

torch::Tensor relative_buckets(int64_t queries, int64_t keys, const BucketOptions& options,
                               torch::Device device) {
  return buckets_of(key_minus_query(queries, keys, device), options);
}

torch::Tensor distance_buckets(const BucketOptions& options, torch::Device device) {
  const int64_t max_distance = options.max_distance;
  return buckets_of(torch::arange(-max_distance, max_distance + 1,
                                  torch::TensorOptions(torch::kInt64).device(device)),
                    options);
}

torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets) {
  if (!table.is_cuda()) return ops::embedding(table, buckets);
  const auto rows = torch::arange(table.size(0), buckets.options());
  const auto chosen = (buckets.unsqueeze(-1) == rows).to(table.scalar_type());
  return chosen.matmul(table);  // each row is one-hot, so the sum is exact
}

}  // namespace convseq::ops
