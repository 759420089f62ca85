#include "convseq/runtime/sequence_pass.h"

#include <algorithm>

#include "convseq/base/error.h"

namespace convseq {
namespace {

// Each block of rows reads all weights of a layer. The hidden values of an FFN should stay near.
constexpr int64_t kBlockRows = 96;             // a multiple of the rows of any instruction
constexpr int64_t kSmallestBlock = 8;          // below it, a matmul is slower per row
constexpr int64_t kGroupRowsPerThread = 1024;  // enough blocks to balance the threads

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// `count` blocks of nearly the same number of rows, in multiples of `unit`.
struct RowBlocks {
  int64_t rows = 0;
  int64_t unit = 1;
  int64_t count = 0;

  int64_t begin(int64_t block) const {
    return std::min(rows, divide_up(rows, unit) * block / count * unit);
  }
};

// As many blocks for each thread.
RowBlocks cut_rows(int64_t rows, int64_t threads, int64_t unit) {
  const int64_t full = threads * divide_up(rows, threads * kBlockRows);
  const int64_t most = divide_up(rows, std::max(unit, kSmallestBlock));
  return {.rows = rows, .unit = unit, .count = std::min(full, most)};
}

// Whole sequences of about as many rows are computed at once; longer ones alone.
template <class Rows, class Run>
void for_groups(int64_t count, int64_t limit, Rows rows_of, Run run) {
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    int64_t rows = 0;
    do {
      rows += rows_of(end++);
    } while (end < count && rows + rows_of(end) <= limit);
    run(begin, end);
  }
}

}  // namespace

// The sequences [begin, end) of a pass, and where their rows stand.
struct SequencePass::Group {
  std::span<const PassSequence> sequences;
  std::vector<int64_t> starts;  // the first row of each, and the number of all rows
  int64_t first_row = 0;        // among the rows of all sequences of the pass

  int64_t rows() const { return starts.back(); }
  size_t sequence_at(int64_t row) const {
    return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), row) -
                               starts.begin() - 1);
  }
  // body(sequence, begin, end) for the rows [begin, end) of each sequence that are in a block.
  template <class Body>
  void for_sequences(int64_t begin, int64_t end, Body body) const {
    for (size_t i = sequence_at(begin); i < sequences.size() && starts[i] < end; ++i) {
      const int64_t from = std::max(begin, starts[i]), to = std::min(end, starts[i + 1]);
      if (from < to) body(i, from - starts[i], to - starts[i]);
    }
  }
};

void check_positions(const ModelConfig& config, int64_t tokens) {
  require(config.positions != Positions::Learned || tokens <= config.max_positions,
          "sequence of {} tokens is longer than max_positions {}", tokens, config.max_positions);
}

void check_token(const ModelConfig& config, int32_t id) {
  require(id >= 0 && id < config.vocab_size, "token {} is not in the model's vocabulary of {}", id,
          config.vocab_size);
}

void embed_token(const CpuModel& model, const CpuStack& stack, int32_t id, int64_t position,
                 float* to) {
  const int64_t d = model.config.d_model;
  check_token(model.config, id);
  model.embedding.copy_row(id, to);
  if (stack.positions == nullptr) return;
  const float* learned = stack.positions + position * d;
  for (int64_t i = 0; i < d; ++i) to[i] += learned[i];
}

SequencePass::SequencePass(const CpuModel& model, ThreadPool& pool) : model_(model), pool_(pool) {
  for (int64_t thread = 0; thread < pool.threads(); ++thread) {
    works_.emplace_back(model, /*pool=*/nullptr);
    works_.back().reserve(kBlockRows);
  }
  sources_.resize(works_.size());
}

int64_t SequencePass::max_block_rows() const { return kBlockRows; }
int64_t SequencePass::group_rows() const { return kGroupRowsPerThread * pool_.threads(); }

void SequencePass::run(std::span<const PassSequence> sequences, const PassOptions& options,
                       const std::function<void(const PassRows&)>& leave) {
  const auto rows_of = [&](int64_t i) { return std::ssize(sequences[static_cast<size_t>(i)].ids); };
  for (int64_t i = 0; i < std::ssize(sequences); ++i) check_positions(model_.config, rows_of(i));
  Group group;
  for_groups(std::ssize(sequences), group_rows(), rows_of, [&](int64_t begin, int64_t end) {
    group.sequences =
        sequences.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    group.starts = {0};
    for (int64_t i = begin; i < end; ++i) group.starts.push_back(group.rows() + rows_of(i));
    if (group.rows() > 0) run_group(group, options, leave);
    group.first_row += group.rows();
  });
}

void SequencePass::run_group(const Group& group, const PassOptions& options,
                             const std::function<void(const PassRows&)>& leave) {
  const CpuStack& stack = options.side == Side::Encoder ? model_.encoder : model_.decoder;
  const int64_t d = model_.config.d_model, rows = group.rows();
  const RowBlocks blocks =
      cut_rows(rows, pool_.threads(), kernels::instruction_rows(model_.type, model_.level));
  x_.reserve_floats(rows * d);
  for (Buffer& each : projected_) {
    for (const CpuLayer& layer : stack.layers) {
      each.reserve_floats(rows * layer.mixer->input.shape.outputs);
    }
  }
  // Phase i mixes layer i − 1 and finishes it, then projects layer i.
  const size_t phases = stack.layers.size() + 1;
  for (size_t phase = 0; phase < phases; ++phase) {
    pool_.run(blocks.count, [&](int64_t task, int64_t thread) {
      RowWork& work = works_[static_cast<size_t>(thread)];
      auto& sources = sources_[static_cast<size_t>(thread)];
      const int64_t begin = blocks.begin(task), end = blocks.begin(task + 1);
      if (phase == 0) embed(group, options.side, begin, end);
      work.begin(x_.floats() + begin * d, end - begin);
      if (phase > 0) {
        const CpuLayer& layer = stack.layers[phase - 1];
        mix(group, layer, begin, end, projected_[(phase - 1) % 2].floats(), work);
        sources.clear();
        if (layer.cross) find_sources(group, begin, end, sources);
        const auto index = phase - 1;
        work.finish(layer, layer.cross ? options.key_values[index] : nullptr, sources);
      }
      if (phase + 1 < phases) {
        const CpuLayer& layer = stack.layers[phase];
        work.project(layer,
                     projected_[phase % 2].floats() + begin * layer.mixer->input.shape.outputs);
      } else {
        leave({.work = work,
               .first = group.first_row + begin,
               .count = end - begin,
               .thread = thread});
      }
    });
  }
}

void SequencePass::embed(const Group& group, Side side, int64_t begin, int64_t end) {
  const CpuStack& stack = side == Side::Encoder ? model_.encoder : model_.decoder;
  const auto start = static_cast<int32_t>(model_.config.decoder_start_token_id);
  group.for_sequences(begin, end, [&](size_t i, int64_t from, int64_t to) {
    const auto ids = group.sequences[i].ids;
    for (int64_t row = from; row < to; ++row) {
      const auto at = static_cast<size_t>(row);
      const int32_t id = side == Side::Encoder ? ids[at] : at == 0 ? start : ids[at - 1];
      embed_token(model_, stack, id, row,
                  x_.floats() + (group.starts[i] + row) * model_.config.d_model);
    }
  });
}

void SequencePass::mix(const Group& group, const CpuLayer& layer, int64_t begin, int64_t end,
                       const float* projected, RowWork& work) {
  const CpuMixer& mixer = *layer.mixer;
  group.for_sequences(begin, end, [&](size_t i, int64_t from, int64_t to) {
    const int64_t start = group.starts[i];
    mixer.mix({.projected = projected + start * mixer.input.shape.outputs,
               .time = std::ssize(group.sequences[i].ids),
               .begin = from,
               .end = to,
               .mixed = work.mixed() + (start + from - begin) * mixer.output.shape.inputs},
              work.mixer_workspace());
  });
}

void SequencePass::find_sources(const Group& group, int64_t begin, int64_t end,
                                std::vector<SourceSpan>& sources) const {
  group.for_sequences(begin, end, [&](size_t i, int64_t from, int64_t to) {
    const PassSequence& sequence = group.sequences[i];
    const int64_t first = group.starts[i] - begin;
    sources.push_back({.begin = first + from,
                       .end = first + to,
                       .first = sequence.source_first,
                       .count = sequence.source_count});
  });
}

}  // namespace convseq
