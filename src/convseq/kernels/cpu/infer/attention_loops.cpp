#include "convseq/kernels/cpu/infer/reductions.h"
#include "convseq/kernels/cpu/infer/row_loops.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// The arrays of one head, at its first channel.
struct Head {
  const SequenceAttention& attention;
  const float *q, *k, *v;
  const float* bias;  // of distance 0; null: none
  float* out;
};

Head head_of(const SequenceAttention& a, int64_t head) {
  const int64_t c = head * a.channels, distances = 2 * a.bias.max_distance + 1;
  return {.attention = a,
          .q = a.q.data + c,
          .k = a.k.data + c,
          .v = a.v.data + c,
          .bias = a.bias.data == nullptr ? nullptr
                                         : a.bias.data + head * distances + a.bias.max_distance,
          .out = a.out + c};
}

// q · k for N queries and K keys: each a sum over the lanes of one vector, then over the channels
// that do not fill a vector.
template <int N, int K>
CONVSEQ_INLINE void dot_tile(const Head& head, int64_t query, int64_t key, float* scores) {
  const SequenceAttention& a = head.attention;
  const float* q = head.q + query * a.q.stride;
  const float* k = head.k + key * a.k.stride;
  Floats<kLanes> sums[N][K] = {};
  int64_t c = 0;
  for (; c + kLanes <= a.channels; c += kLanes) {
    Floats<kLanes> keys[K];
    unroll<K>([&](auto j)
                  CONVSEQ_LAMBDA { keys[j.kValue] = load<kLanes>(k + j.kValue * a.k.stride + c); });
    unroll<N>([&](auto i) CONVSEQ_LAMBDA {
      const auto values = load<kLanes>(q + i.kValue * a.q.stride + c);
      unroll<K>([&](auto j) CONVSEQ_LAMBDA {
        auto& sum = sums[i.kValue][j.kValue];
        sum = fma<kLanes>(values, keys[j.kValue], sum);
      });
    });
  }
  unroll<N>([&](auto i) CONVSEQ_LAMBDA {
    unroll<K>([&](auto j) CONVSEQ_LAMBDA {
      Floats<1> sum = {sum_of<kLanes>(sums[i.kValue][j.kValue])};
      for (int64_t rest = c; rest < a.channels; ++rest) {
        sum = fma<1>(load<1>(q + i.kValue * a.q.stride + rest),
                     load<1>(k + j.kValue * a.k.stride + rest), sum);
      }
      scores[i.kValue * a.keys + key + j.kValue] = sum[0];
    });
  });
}

// Adds the bias of the distances key − position to the scores of one query.
CONVSEQ_INLINE void add_bias(const Head& head, int64_t position, int64_t keys, float* scores) {
  if (head.bias == nullptr) return;
  const int64_t most = head.attention.bias.max_distance;
  const int64_t near = smaller(keys, larger<int64_t>(0, position - most));
  const int64_t far = smaller(keys, larger<int64_t>(0, position + most + 1));
  for (int64_t j = 0; j < near; ++j) scores[j] += head.bias[-most];
  for (int64_t j = near; j < far; ++j) scores[j] += head.bias[j - position];
  for (int64_t j = far; j < keys; ++j) scores[j] += head.bias[most];
}

// Replaces the scores by their exponentials, less the largest, and returns the sum of these.
CONVSEQ_INLINE float exponentials(float* scores, int64_t keys) {
  const float largest = largest_of(scores, keys);
  return sum_over(keys, [&](auto width, int64_t j, auto sum) CONVSEQ_LAMBDA {
    const auto value = exp<width.kValue>(load<width.kValue>(scores + j) - largest);
    store<width.kValue>(scores + j, value);
    return sum + value;
  });
}

// V vectors of W channels of N outputs: Σ weight · value over the keys, in their order.
template <int N, int V, int W>
CONVSEQ_INLINE void value_tile(const Head& head, int64_t query, int64_t channel, int64_t keys,
                               const float* weights, const float* scales) {
  const SequenceAttention& a = head.attention;
  Floats<W> sums[N][V] = {};
  for (int64_t j = 0; j < keys; ++j) {
    const float* v = head.v + j * a.v.stride + channel;
    unroll<V>([&](auto i) CONVSEQ_LAMBDA {
      const auto values = load<W>(v + i.kValue * W);
      unroll<N>([&](auto n) CONVSEQ_LAMBDA {
        auto& sum = sums[n.kValue][i.kValue];
        sum = fma<W>(values, weights[n.kValue * a.keys + j], sum);
      });
    });
  }
  unroll<N>([&](auto n) CONVSEQ_LAMBDA {
    float* out = head.out + (query + n.kValue) * a.out_stride + channel;
    unroll<V>([&](auto i) CONVSEQ_LAMBDA {
      store<W>(out + i.kValue * W, sums[n.kValue][i.kValue] * scales[n.kValue]);
    });
  });
}

template <int N>
CONVSEQ_INLINE void attend_queries(const Head& head, int64_t query, float* scores) {
  const SequenceAttention& a = head.attention;
  int64_t visible[N], most = 0;
  for (int i = 0; i < N; ++i) {
    const int64_t position = a.first_position + query + i;
    visible[i] = a.causal ? smaller(a.keys, larger<int64_t>(0, position + 1)) : a.keys;
    most = larger(most, visible[i]);
  }
  int64_t j = 0;
  for (; j + 4 <= most; j += 4) dot_tile<N, 4>(head, query, j, scores);
  for (; j < most; ++j) dot_tile<N, 1>(head, query, j, scores);
  float scales[N];
  for (int i = 0; i < N; ++i) {
    float* row = scores + i * a.keys;
    add_bias(head, a.first_position + query + i, visible[i], row);
    const float sum = exponentials(row, visible[i]);
    scales[i] = visible[i] > 0 ? 1 / sum : 0;
    for (int64_t hidden = visible[i]; hidden < most; ++hidden) row[hidden] = 0;
  }
  // One query alone takes more channels at once, so that there are as many independent sums.
  constexpr int kVectors = N == 1 ? 8 : 4;
  int64_t c = 0;
  for (; c + kVectors * kLanes <= a.channels; c += kVectors * kLanes) {
    value_tile<N, kVectors, kLanes>(head, query, c, most, scores, scales);
  }
  for (; c + kLanes <= a.channels; c += kLanes) {
    value_tile<N, 1, kLanes>(head, query, c, most, scores, scales);
  }
  for (; c < a.channels; ++c) value_tile<N, 1, 1>(head, query, c, most, scores, scales);
}

void attend(const SequenceAttention& attention, RowRange heads, RowRange queries, float* scores) {
  for (int64_t h = heads.begin; h < heads.end; ++h) {
    const Head head = head_of(attention, h);
    int64_t query = queries.begin;
    for (; query + kAttentionQueries <= queries.end; query += kAttentionQueries) {
      attend_queries<kAttentionQueries>(head, query, scores);
    }
    for (; query < queries.end; ++query) attend_queries<1>(head, query, scores);
  }
}

}  // namespace

const AttentionLoops kAttentionLoops = {.attend = attend};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
