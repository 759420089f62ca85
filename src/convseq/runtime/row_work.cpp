#include "convseq/runtime/row_work.h"

#include <algorithm>

namespace convseq {
namespace {

constexpr int64_t kRowsPerThread = 4;  // fewer are not worth a phase of their own

int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void Buffer::reserve(int64_t bytes) {
  if (bytes <= bytes_) return;
  memory_ = allocate_aligned(static_cast<size_t>(bytes));
  bytes_ = bytes;
}

kernels::PackedRows RowWork::packed(const Buffer& buffer, int64_t inputs) const {
  return {{.rows = rows_, .inputs = inputs, .type = model_.type, .level = model_.level},
          buffer.data()};
}

void RowWork::reserve(int64_t rows) {
  const ModelConfig& config = model_.config;
  const int64_t d = config.d_model, inner = config.heads * config.d_kv;
  const auto packed_bytes = [&](int64_t inputs) {
    return kernels::packed_bytes(kernels::PackedRowsShape{
        .rows = rows, .inputs = inputs, .type = model_.type, .level = model_.level});
  };
  const bool is_gated = config.ffn == FeedForwardKind::GatedGelu;
  input_.reserve(packed_bytes(d));
  inner_.reserve(std::max({packed_bytes(d), packed_bytes(inner), packed_bytes(config.d_ff)}));
  mixed_.reserve_floats(rows * std::max(d, inner));
  queries_.reserve_floats(rows * inner);
  hidden_.reserve_floats(rows * config.d_ff * (is_gated ? 2 : 1));
  branch_.reserve_floats(rows * d);
  for (const CpuStack* stack : {&model_.encoder, &model_.decoder}) {
    for (const CpuLayer& layer : stack->layers) {
      workspace_.reserve(layer.mixer->workspace_bytes(rows));
    }
  }
}

void RowWork::begin(float* x, int64_t rows) {
  x_ = x;
  rows_ = rows;
  input_is_packed_ = false;
}

template <class Body>
void RowWork::for_rows(Body body) {
  if (pool_ == nullptr || rows_ < 2 * kRowsPerThread) return body(kernels::RowRange{0, rows_});
  const int64_t share = (rows_ + pool_->threads() - 1) / pool_->threads();
  const int64_t part = round_up(std::max(share, kRowsPerThread), 2);  // packed rows come in pairs
  pool_->run((rows_ + part - 1) / part, [&](int64_t task, int64_t) {
    body(kernels::RowRange{task * part, std::min(rows_, (task + 1) * part)});
  });
}

void RowWork::matmul(const kernels::PackedRows& rows, const kernels::PackedMatrix& matrix,
                     const kernels::MatmulOutput& output) {
  if (pool_ == nullptr) return kernels::packed_matmul(rows, matrix, output);
  const int64_t columns = matrix.shape.outputs;
  const int64_t part =
      round_up((columns + pool_->threads() - 1) / pool_->threads(), kernels::kMatmulColumns);
  pool_->run((columns + part - 1) / part, [&](int64_t task, int64_t) {
    kernels::packed_matmul(rows, matrix, output,
                           {task * part, std::min(columns, (task + 1) * part)});
  });
}

// Packs the input of a branch: norm(x) with norms before the branches, otherwise x.
void RowWork::enter(const kernels::NormParameters& norm) {
  const int64_t d = model_.config.d_model;
  const kernels::PackedRows input = packed(input_, d);
  if (is_pre_norm()) {
    const kernels::NormRows rows{.x = {x_, d},
                                 .channels = d,
                                 .norm = norm,
                                 .residual = {},
                                 .packed = input,
                                 .level = model_.level};
    for_rows([&](kernels::RowRange range) { kernels::norm_rows(rows, range); });
  } else if (!input_is_packed_) {
    for_rows([&](kernels::RowRange range) { kernels::pack_rows({x_, d}, input, range); });
  }
}

// x + rows Wᵀ, or x + norm(rows Wᵀ) with norms inside the branches.
void RowWork::add_branch(const kernels::PackedRows& rows, const kernels::PackedMatrix& matrix,
                         const kernels::NormParameters& norm) {
  const int64_t d = model_.config.d_model;
  if (is_pre_norm()) {
    return matmul(rows, matrix, {.data = x_, .stride = d, .residual = x_, .residual_stride = d});
  }
  matmul(rows, matrix, {.data = branch_.floats(), .stride = d});
  const kernels::NormRows sum{.x = {branch_.floats(), d},
                              .channels = d,
                              .norm = norm,
                              .residual = {x_, d},
                              .out = x_,
                              .out_stride = d,
                              .packed = packed(input_, d),
                              .level = model_.level};
  for_rows([&](kernels::RowRange range) { kernels::norm_rows(sum, range); });
  input_is_packed_ = true;
}

void RowWork::add_mixed(const kernels::PackedMatrix& matrix, const kernels::NormParameters& norm) {
  const int64_t width = matrix.shape.inputs;
  const kernels::PackedRows rows = packed(inner_, width);
  for_rows([&](kernels::RowRange range) {
    kernels::pack_rows({mixed_.floats(), width}, rows, range);
  });
  add_branch(rows, matrix, norm);
}

void RowWork::project(const CpuLayer& layer, float* projected) {
  enter(layer.norm);
  const kernels::PackedMatrix& matrix = layer.mixer->input;
  matmul(packed(input_, model_.config.d_model), matrix,
         {.data = projected, .stride = matrix.shape.outputs});
}

void RowWork::finish(const CpuLayer& layer, const float* key_values,
                     std::span<const SourceSpan> sources) {
  add_mixed(layer.mixer->output, layer.norm);
  if (layer.cross) add_cross(*layer.cross, key_values, sources);
  if (layer.ffn) add_ffn(*layer.ffn);
}

void RowWork::add_cross(const CpuCrossAttention& cross, const float* key_values,
                        std::span<const SourceSpan> sources) {
  const ModelConfig& config = model_.config;
  const int64_t heads = config.heads, inner = heads * config.d_kv;
  enter(cross.norm);
  matmul(packed(input_, config.d_model), cross.query, {.data = queries_.floats(), .stride = inner});
  const auto attend = [&](const SourceSpan& span, kernels::RowRange some_heads) {
    const float* keys = key_values + span.first * 2 * inner;
    const kernels::SequenceAttention attention{.heads = heads,
                                               .channels = config.d_kv,
                                               .queries = span.end - span.begin,
                                               .keys = span.count,
                                               .q = {queries_.floats() + span.begin * inner, inner},
                                               .k = {keys, 2 * inner},
                                               .v = {keys + inner, 2 * inner},
                                               .bias = {},
                                               .out = mixed_.floats() + span.begin * inner,
                                               .out_stride = inner,
                                               .level = model_.level};
    kernels::attention_rows(attention, some_heads, {0, attention.queries});
  };
  const auto count = static_cast<int64_t>(sources.size());
  if (pool_ == nullptr) {
    for (const SourceSpan& span : sources) attend(span, {0, heads});
  } else {  // few spans are divided by heads
    const int64_t parts = count >= 2 * pool_->threads() ? 1 : std::min(heads, pool_->threads());
    pool_->run(count * parts, [&](int64_t task, int64_t) {
      const int64_t part = task % parts;
      attend(sources[static_cast<size_t>(task / parts)],
             {heads * part / parts, heads * (part + 1) / parts});
    });
  }
  add_mixed(cross.output, cross.norm);
}

void RowWork::add_ffn(const CpuFeedForward& ffn) {
  enter(ffn.norm);
  const int64_t width = ffn.up.shape.outputs, inner = ffn.down.shape.inputs;
  const bool is_gated = width != inner;
  const float* hidden = hidden_.floats();
  matmul(packed(input_, model_.config.d_model), ffn.up,
         {.data = hidden_.floats(), .stride = width, .relu = !is_gated});
  const kernels::PackedRows rows = packed(inner_, inner);
  for_rows([&](kernels::RowRange range) {
    if (is_gated) {
      kernels::gated_gelu_pack_rows({hidden, width}, {hidden + inner, width}, rows, range);
    } else {
      kernels::pack_rows({hidden, width}, rows, range);
    }
  });
  add_branch(rows, ffn.down, ffn.norm);
}

void RowWork::leave(const kernels::NormParameters& norm, float* out) {
  const int64_t d = model_.config.d_model;
  const kernels::NormRows rows{.x = {x_, d},
                               .channels = d,
                               .norm = norm,
                               .residual = {},
                               .out = out,
                               .out_stride = d,
                               .packed = {},
                               .level = model_.level};
  for_rows([&](kernels::RowRange range) { kernels::norm_rows(rows, range); });
}

void RowWork::logits(int64_t begin, int64_t end, float* out) {
  const int64_t d = model_.config.d_model;
  kernels::PackedRows input = packed(input_, d);
  input.shape.rows = end - begin;
  const kernels::NormRows rows{.x = {x_ + begin * d, d},
                               .channels = d,
                               .norm = model_.decoder.norm,
                               .residual = {},
                               .packed = input,
                               .level = model_.level};
  kernels::norm_rows(rows, {0, end - begin});
  matmul(input, model_.output, {.data = out, .stride = model_.config.vocab_size});
  input_is_packed_ = false;
}

}  // namespace convseq
