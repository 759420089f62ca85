#include "convseq/bench/step_work.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "convseq/spec/mixer_description.h"

namespace convseq::bench {
namespace {

class WorkCounter {
 public:
  WorkCounter(const ModelConfig& config, const StepShape& shape) : config_(config), shape_(shape) {}

  StepWork count() {
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      for (int64_t layer = 0; layer < config_.layers(side); ++layer) {
        mixer(mixer_layer(config_, side, layer), side);
        if (side == Side::Encoder && config_.has_encoder_attention(layer)) {
          mixer(added_attention(config_), side);
        }
        if (side == Side::Decoder) cross_attention();
        feed_forward(side);
      }
      norm(side);  // the final norm of the stack
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
  // A pass that reads and writes, forward and backward together, `values` values per token.
  void pass(const char* what, Side side, int64_t values) {
    bytes_[what] += element() * static_cast<double>(rows(side) * values);
  }

  void norm(Side side) {
    // With the residual sum. Branch LayerNorm: forward reads branch and stream and writes the
    // stream; backward reads the stream's gradient and the branch and writes the branch's gradient.
    // Pre-RMSNorm also writes the normed stream and reads its gradient. The matmul that computes
    // the gradient of a branch's input adds it to the stream's.
    const int64_t passes = config_.norm == NormStyle::BranchLayerNorm ? 3 + 3 : 4 + 4;
    pass("norms and residual sums", side, passes * config_.d_model);
    parameters_ += (config_.norm == NormStyle::BranchLayerNorm ? 2 : 1) * config_.d_model;
  }

  void attend(const AttentionHeads& heads, Side queries, Side keys, bool causal) {
    const AttentionMatmul wanted{.batch = shape_.batch,
                                 .heads = heads.heads,
                                 .queries = time(queries),
                                 .keys = time(keys),
                                 .head_channels = heads.channels,
                                 .causal = causal};
    for (AttentionMatmul& each : attentions_) {
      if (each.heads == wanted.heads && each.queries == wanted.queries &&
          each.keys == wanted.keys && each.head_channels == wanted.head_channels &&
          each.causal == causal) {
        each.count += 1;
        return;
      }
    }
    attentions_.push_back(wanted);
    attentions_.back().count = 1;
  }

  void mixer(const MixerLayer& layer, Side side) {
    for (const MixerMatmul& each : layer.matmuls) matmul(rows(side), each.in, each.out);
    if (layer.moved_values > 0) pass("gates and convolutions", side, layer.moved_values);
    if (layer.attention) attend(*layer.attention, side, side, side == Side::Decoder);
    norm(side);
  }

  void cross_attention() {
    const AttentionHeads heads{.heads = config_.heads, .channels = config_.d_kv};
    const int64_t target = rows(Side::Decoder), source = rows(Side::Encoder), d = config_.d_model;
    matmul(target, d, heads.inner());
    for (int i = 0; i < 2; ++i) matmul(source, d, heads.inner());  // keys and values
    matmul(target, heads.inner(), d);
    attend(heads, Side::Decoder, Side::Encoder, false);
    norm(Side::Decoder);
  }

  void feed_forward(Side side) {
    const int64_t d = config_.d_model, f = config_.d_ff;
    const bool gated = config_.ffn == FeedForwardKind::GatedGelu;
    for (int i = 0; i < (gated ? 2 : 1); ++i) matmul(rows(side), d, f);
    matmul(rows(side), f, d);
    norm(side);
    // ReLU is in the epilogue of the matmul before it, and its gradient in that of the backward
    // matmul, which reads the hidden values for it. A gate reads two values and writes one; its
    // backward pass reads those and a gradient and writes two.
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
    // Forward and backward read a row and write a row.
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      pass("embedding", side, 4 * config_.d_model);
    }
    parameters_ += config_.vocab_size * config_.d_model;
  }

  void optimizer() {
    constexpr double kFp32 = 4;
    // Reads the gradient for its norm and again for the update, reads and writes the weight and
    // both averages, and writes the bf16 copy that the model computes with.
    const bool apart = element() < kFp32;
    const double each = 2 * element() + 2 * 3 * kFp32 + (apart ? element() : 0);
    bytes_[kOptimizerPart] += each * static_cast<double>(parameters_);
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

double StepWork::bytes_of(std::string_view part) const {
  const auto found = std::find_if(rest_bytes.begin(), rest_bytes.end(),
                                  [&](const auto& each) { return each.first == part; });
  return found == rest_bytes.end() ? 0 : found->second;
}

StepWork step_work(const ModelConfig& config, const StepShape& shape) {
  return WorkCounter(config, shape).count();
}

}  // namespace convseq::bench
