#include "convseq/train/step/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "convseq/model/seq2seq.h"
#include "convseq/spec/mixer_description.h"
#include "convseq/train/optim/adafactor.h"

namespace convseq {
namespace {

constexpr double kFloat = 4;  // bytes
// Libtorch's own code and buffers in a CPU run. In a GPU run they are in host memory.
constexpr double kLibraryBytes = 50e6;

double real(int64_t value) { return static_cast<double>(value); }

// Counts of values in the compute type. Kept values are summed over the layers; temporary values
// exist for one layer at a time, so the largest layer counts.
struct Numbers {
  double kept = 0;
  double temporary = 0;

  Numbers operator+(const Numbers& other) const {
    return {kept + other.kept, std::max(temporary, other.temporary)};
  }
};

class ActivationCount {
 public:
  ActivationCount(const ModelConfig& config, const TrainingShape& shape)
      : config_(config), shape_(shape), d_(real(config.d_model)) {}

  Numbers stack(Side side) const {
    Numbers all;
    const double positions = positions_of(side);
    for (int64_t layer = 0; layer < config_.layers(side); ++layer) {
      const Numbers block = this->block(side, layer);
      // Recomputed blocks keep only their input; the rest exists for one block at a time.
      all =
          all + (shape_.recompute ? Numbers{positions * d_, block.kept + block.temporary} : block);
    }
    // The embedding output, and the input and output of the final norm.
    return all + Numbers{3 * positions * d_, 0};
  }

 private:
  double positions_of(Side side) const {
    return real(shape_.rows) * real(side == Side::Encoder ? shape_.source : shape_.target);
  }

  Numbers block(Side side, int64_t layer) const {
    const double positions = positions_of(side);
    Numbers sum = joined(positions, mixer(mixer_layer(config_, side, layer), side)) +
                  joined(positions, feed_forward(positions));
    if (side == Side::Encoder && config_.has_encoder_attention(layer)) {
      sum = sum + joined(positions, mixer(added_attention(config_), side));
    }
    if (side == Side::Decoder) sum = sum + joined(positions, cross_attention());
    return sum;
  }

  // Adds the norm and residual of a sub-layer: the residual stream, and the input or output of the
  // norm.
  Numbers joined(double positions, Numbers branch) const {
    branch.kept += (2 + (config_.dropout > 0 ? 1 : 0)) * positions * d_;
    branch.temporary = std::max(branch.temporary, 3 * positions * d_);
    return branch;
  }

  Numbers mixer(const MixerLayer& layer, Side side) const {
    const double positions = positions_of(side);
    const Numbers own{positions * real(layer.kept_values),
                      positions * real(layer.temporary_values)};
    if (!layer.attention) return own;
    const double time = real(side == Side::Encoder ? shape_.source : shape_.target);
    return own + attention(*layer.attention, time, time, config_.positions == Positions::Relative);
  }

  Numbers cross_attention() const {
    const AttentionHeads heads{.heads = config_.heads, .channels = config_.d_kv};
    return attention(heads, real(shape_.target), real(shape_.source), /*has_bias=*/false);
  }

  // Queries and outputs, keys and values. Libtorch's CPU kernels that do not store the [queries,
  // keys] matrix support neither dropout nor a trainable bias.
  Numbers attention(const AttentionHeads& heads, double queries, double keys, bool has_bias) const {
    const double projections = real(shape_.rows) * real(heads.inner()) * 2 * (queries + keys);
    const double bias = has_bias ? real(heads.heads) * queries * keys : 0;
    if (shape_.device.is_cuda() || (!has_bias && config_.dropout == 0)) {
      return {projections + bias, projections};
    }
    const double pairs = real(shape_.rows) * real(heads.heads) * queries * keys;
    const double copies = config_.dropout > 0 ? 3 : 1;  // softmax; mask and output of dropout
    return {projections * 1.5 + bias + copies * pairs, 3 * pairs};
  }

  Numbers feed_forward(double positions) const {
    const double hidden = positions * real(config_.d_ff);
    const double kept = config_.ffn == FeedForwardKind::GatedGelu ? 4 : 1;
    return {(kept + (config_.dropout > 0 ? 2 : 0)) * hidden, 2 * hidden};
  }

  const ModelConfig& config_;
  const TrainingShape& shape_;
  double d_;
};

// Logits of one chunk and gradients of the output matrix, in fp32.
double loss_bytes(const ModelConfig& config, const TrainingShape& shape) {
  if (shape.pooled) return 0;
  const double tokens = real(shape.rows) * real(shape.target);
  // Not loss_chunk_tokens(), whose integers may overflow.
  const double chunk = std::min(tokens, shape.device.is_cuda() ? 8192.0 : 1024.0);
  const double matrix = real(config.vocab_size) * real(config.d_model);
  return kFloat * (3 * chunk * real(config.vocab_size) + 2 * matrix);
}

struct OptimizerBytes {
  double averages = 0;
  double update = 0;
};

OptimizerBytes optimizer_bytes(const ModelConfig& config, const TrainingShape& shape) {
  OptimizerBytes bytes;
  std::map<std::vector<int64_t>, double> by_shape;  // Adafactor stacks parameters of one shape
  double all = 0;
  for (const auto& [name, parameter] : parameter_shapes(config)) {
    const double size = real(parameter.numel());
    all += size;
    by_shape[parameter.sizes().vec()] += size;
    bytes.averages += kFloat * Adafactor::averages_of(parameter.sizes());
  }
  if (shape.optimizer == OptimizerKind::Adafactor) {
    for (const auto& [sizes, count] : by_shape) {
      bytes.update = std::max(bytes.update, 2 * kFloat * count);
    }
    return bytes;
  }
  bytes.averages = 2 * kFloat * all;
  bytes.update = shape.device.is_cuda() ? 0 : kFloat * all;
  return bytes;
}

ModelConfig computed(ModelConfig config, bool pooled) {
  if (pooled) config.decoder_layers = 0;
  return config;
}

}  // namespace

double MemoryEstimate::total() const {
  const double forward = activations + (accumulates ? gradients : 0);
  return weights + optimizer + std::max(forward, gradients + update);
}

std::string MemoryEstimate::describe() const {
  const auto gb = [](double bytes) { return fmt::format("{:.3g}", bytes / 1e9); };
  if (gradients == 0) {
    return fmt::format("{} GB (weights {}, activations {})", gb(total()), gb(weights),
                       gb(activations));
  }
  return fmt::format("{} GB (weights {}, gradients {}, optimizer {}, activations {})", gb(total()),
                     gb(weights), gb(gradients), gb(optimizer + update), gb(activations));
}

MemoryEstimate training_memory(const ModelConfig& given, const TrainingShape& shape) {
  const ModelConfig config = computed(given, shape.pooled);
  const double parameters = real(parameter_count(config));
  const bool narrow = shape.precision == torch::kBFloat16;
  const double bytes = real(static_cast<int64_t>(c10::elementSize(shape.precision)));
  const ActivationCount count(config, shape);
  const Numbers numbers = count.stack(Side::Encoder) + count.stack(Side::Decoder);
  const OptimizerBytes optimizer = optimizer_bytes(config, shape);
  MemoryEstimate estimate;
  estimate.weights = parameters * (narrow ? bytes + kFloat : bytes);
  estimate.gradients =
      parameters * (narrow && shape.device.is_cuda() ? bytes : std::max(bytes, kFloat));
  estimate.optimizer = optimizer.averages;
  estimate.activations = bytes * (numbers.kept + numbers.temporary) + loss_bytes(config, shape) +
                         (shape.device.is_cpu() ? kLibraryBytes : 0);
  estimate.update = optimizer.update;
  estimate.accumulates = shape.micro_batches > 1;
  if (narrow && estimate.accumulates) estimate.gradients = parameters * (bytes + kFloat);
  return estimate;
}

MemoryEstimate inference_memory(const ModelConfig& config, const InferenceShape& shape) {
  const double bytes = real(static_cast<int64_t>(c10::elementSize(shape.precision)));
  const TrainingShape as_trained{.rows = shape.rows,
                                 .source = shape.source,
                                 .target = shape.target,
                                 .precision = shape.precision,
                                 .recompute = true};  // activations of one block at a time
  ModelConfig plain = config;
  plain.dropout = 0;
  const ActivationCount count(plain, as_trained);
  const Numbers encoder = count.stack(Side::Encoder), decoder = count.stack(Side::Decoder);
  // Per layer, the keys and values of the source and of the tokens decoded so far.
  const double inner = real(config.heads) * real(config.d_kv);
  const double state = real(shape.rows) * real(config.decoder_layers) * 2 * inner *
                       (real(shape.source) + real(shape.target));
  const double logits = config.decoder_layers > 0 ? real(shape.rows) * real(config.vocab_size) : 0;
  MemoryEstimate estimate;
  estimate.weights = bytes * real(parameter_count(config));
  estimate.activations =
      bytes * (std::max(encoder.temporary, decoder.temporary) + state) + 2 * kFloat * logits;
  return estimate;
}

}  // namespace convseq
