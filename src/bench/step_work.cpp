#include "convseq/bench/step_work.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace convseq::bench {
namespace {

int64_t inner(const ModelConfig& config) { return config.heads * config.d_kv; }

class WorkCounter {
 public:
  WorkCounter(const ModelConfig& config, const StepShape& shape) : config_(config), shape_(shape) {}

  StepWork count() {
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      for (int64_t layer = 0; layer < config_.layers(side); ++layer) {
        config_.mixer == MixerKind::Attention ? self_attention(side) : convolution(side, layer);
        if (side == Side::Encoder && config_.has_encoder_attention(layer)) self_attention(side);
        if (side == Side::Decoder) cross_attention();
        feed_forward(side);
      }
      norm(side);  // the stack's last
    }
    output();
    embeddings();
    optimizer();
    StepWork work{.attentions = attentions_, .rest_bytes = {bytes_.begin(), bytes_.end()}};
    for (const auto& [sizes, times] : matmuls_) {
      const auto& [rows, in, out] = sizes;
      work.matmuls.push_back({.rows = rows, .in = in, .out = out, .count = times});
    }
    return work;
  }

 private:
  int64_t time(Side side) const {
    return side == Side::Encoder ? shape_.work.source : shape_.work.target;
  }
  int64_t rows(Side side) const { return shape_.batch * time(side); }
  double element() const { return static_cast<double>(shape_.element_bytes); }

  void matmul(int64_t rows, int64_t in, int64_t out) {
    matmuls_[{rows, in, out}] += 1;
    parameters_ += in * out;
  }
  // A pass that reads and writes, forward and backward together, `values` values a token.
  void pass(const char* what, Side side, int64_t values) {
    bytes_[what] += element() * static_cast<double>(rows(side) * values);
  }

  void norm(Side side) {
    // With the residual sum. Branch LayerNorm: forward reads branch and stream, writes the stream;
    // backward reads its gradient and the branch, writes the branch's. Pre-RMSNorm writes (and gets
    // the gradient of) the normed stream too. The stream's gradient and that of a branch's input
    // become one where the matmul makes the latter.
    const int64_t passes = config_.norm == NormStyle::BranchLayerNorm ? 3 + 3 : 4 + 4;
    pass("norms and residual sums", side, passes * config_.d_model);
    parameters_ += (config_.norm == NormStyle::BranchLayerNorm ? 2 : 1) * config_.d_model;
  }

  void attend(Side queries, Side keys, bool causal) {
    const AttentionMatmul wanted{.batch = shape_.batch,
                                 .heads = config_.heads,
                                 .queries = time(queries),
                                 .keys = time(keys),
                                 .head_channels = config_.d_kv,
                                 .causal = causal};
    for (AttentionMatmul& each : attentions_) {
      if (each.queries == wanted.queries && each.keys == wanted.keys && each.causal == causal) {
        each.count += 1;
        return;
      }
    }
    attentions_.push_back(wanted);
    attentions_.back().count = 1;
  }

  void projections(Side queries, Side keys) {
    matmul(rows(queries), config_.d_model, inner(config_));
    for (int i = 0; i < 2; ++i) matmul(rows(keys), config_.d_model, inner(config_));
    matmul(rows(queries), inner(config_), config_.d_model);
    norm(queries);
  }

  void self_attention(Side side) {
    projections(side, side);
    attend(side, side, side == Side::Decoder);
  }

  void cross_attention() {
    projections(Side::Decoder, Side::Encoder);
    attend(Side::Decoder, Side::Encoder, false);
  }

  void convolution(Side side, int64_t layer) {
    const int64_t d = config_.d_model, kernel = config_.kernels(side)[layer];
    matmul(rows(side), d, config_.glu ? 2 * d : d);
    matmul(rows(side), d, d);
    norm(side);
    // Reads x and writes y; reads x and dy, writes dx.
    const int64_t width = config_.glu ? 2 * d : d;
    pass("gates and convolutions", side, (width + d) + (2 * width + d));
    if (config_.mixer != MixerKind::Dynamic) return;
    const int64_t logits = config_.conv_heads * kernel;
    matmul(rows(side), d, logits);
    // The gated x is written for the matmul that makes the taps, and its gradient read back.
    pass("gates and convolutions", side, 3 * logits + 2 * d);
  }

  void feed_forward(Side side) {
    const int64_t d = config_.d_model, f = config_.d_ff;
    const bool gated = config_.ffn == FeedForwardKind::GatedGelu;
    for (int i = 0; i < (gated ? 2 : 1); ++i) matmul(rows(side), d, f);
    matmul(rows(side), f, d);
    norm(side);
    // ReLU is the last thing that the matmul before it does, its gradient the last of the backward
    // one, which reads the hidden values for it. A gate reads two and writes one; reads those and a
    // gradient, writes two.
    pass("activations", side, gated ? (3 + 5) * f : f);
  }

  void output() {
    const int64_t tokens = rows(Side::Decoder), vocabulary = config_.vocab_size;
    for (int64_t done = 0; done < tokens; done += shape_.loss_chunk_tokens) {
      matmuls_[{std::min(shape_.loss_chunk_tokens, tokens - done), config_.d_model, vocabulary}] +=
          1;
    }
    pass("loss", Side::Decoder, 2 * vocabulary);  // reads the logits, writes their gradient
    if (!config_.tie_embeddings) parameters_ += vocabulary * config_.d_model;
  }

  void embeddings() {
    // A row read and written, both ways.
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      pass("embedding", side, 4 * config_.d_model);
    }
    parameters_ += config_.vocab_size * config_.d_model;
  }

  void optimizer() {
    constexpr double kFp32 = 4;
    // Reads the gradient for its norm and again for the update; weight and both averages in and
    // out; the narrow copy that the model computes with.
    const bool apart = element() < kFp32;
    const double each = 2 * element() + 2 * 3 * kFp32 + (apart ? element() : 0);
    bytes_["optimizer and clipping"] += each * static_cast<double>(parameters_);
  }

  const ModelConfig& config_;
  StepShape shape_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> matmuls_;
  std::vector<AttentionMatmul> attentions_;
  std::map<std::string, double> bytes_;
  int64_t parameters_ = 0;
};

}  // namespace

double Matmul::flops() const {
  return 3.0 * 2.0 * static_cast<double>(rows * in) * static_cast<double>(out * count);
}

double AttentionMatmul::flops() const {
  const int64_t pairs = causal ? queries * (queries + 1) / 2 : queries * keys;
  return 3.0 * 4.0 * static_cast<double>(batch * heads * head_channels) *
         static_cast<double>(pairs * count);
}

double StepWork::all_rest_bytes() const {
  return std::accumulate(rest_bytes.begin(), rest_bytes.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.second; });
}

StepWork step_work(const ModelConfig& config, const StepShape& shape) {
  return WorkCounter(config, shape).count();
}

}  // namespace convseq::bench
