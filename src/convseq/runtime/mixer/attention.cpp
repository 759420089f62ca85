#include <cstring>

#include "convseq/runtime/mixer/cpu_mixer.h"

namespace convseq {
namespace {

// A projected row holds the query, the key and the value of a position; the decode state the keys
// and values of all positions so far, [tokens, 2, heads · channels].
class CpuAttention : public CpuMixer {
 public:
  CpuAttention(const CpuMixerOptions& options, WeightPacker& packer) : options_(options) {
    shape_.heads = packer.config().heads;
    shape_.channels = packer.config().d_kv;
    shape_.causal = options.side == Side::Decoder;
    shape_.level = packer.options().level;
    packer.matrix({options.name + ".query.weight", options.name + ".key.weight",
                   options.name + ".value.weight"},
                  input);
    packer.matrix({options.name + ".output.weight"}, output);
  }

  void mix(const MixRows& rows, std::byte* /*workspace*/) const override {
    kernels::SequenceAttention attention = shape_;
    const int64_t stride = 3 * inner();
    attention.queries = attention.keys = rows.time;
    attention.q = {rows.projected, stride};
    attention.k = {rows.projected + inner(), stride};
    attention.v = {rows.projected + 2 * inner(), stride};
    attention.bias = *options_.bias;
    attention.out = rows.mixed - rows.begin * inner();
    attention.out_stride = inner();
    kernels::attention_rows(attention, {0, attention.heads}, {rows.begin, rows.end});
  }

  void step(const MixStep& step, std::byte* /*workspace*/) const override {
    const int64_t stride = 2 * inner();
    std::memcpy(step.state + step.position * stride, step.projected + inner(),
                static_cast<size_t>(stride) * sizeof(float));
    kernels::SequenceAttention attention = shape_;
    attention.queries = 1;
    attention.keys = step.position + 1;
    attention.first_position = step.position;
    attention.q = {step.projected, stride};
    attention.k = {step.state, stride};
    attention.v = {step.state + inner(), stride};
    attention.bias = *options_.bias;
    attention.out = step.mixed;
    attention.out_stride = inner();
    kernels::attention_rows(attention, {0, attention.heads}, {0, 1});
  }

  int64_t state_values(int64_t tokens) const override { return tokens * 2 * inner(); }
  int64_t workspace_bytes(int64_t /*rows*/) const override { return 0; }

 private:
  int64_t inner() const { return shape_.heads * shape_.channels; }

  CpuMixerOptions options_;
  kernels::SequenceAttention shape_;
};

}  // namespace

std::unique_ptr<CpuMixer> make_cpu_attention(const CpuMixerOptions& options, WeightPacker& packer) {
  return std::make_unique<CpuAttention>(options, packer);
}

}  // namespace convseq
