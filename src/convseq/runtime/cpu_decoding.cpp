#include "convseq/runtime/cpu_decoding.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "convseq/base/error.h"
#include "convseq/runtime/sequence_pass.h"

namespace convseq {
namespace {

constexpr int64_t kFirstCapacity = 64;     // tokens; doubled when they are used up
constexpr size_t kStepsBetweenReads = 16;  // more take more memory

}  // namespace

CpuDecoding::CpuDecoding(std::shared_ptr<const CpuModel> model, std::shared_ptr<ThreadPool> pool,
                         SourceMemory memory, const CpuDecodingOptions& options)
    : model_(std::move(model)),
      pool_(std::move(pool)),
      memory_(std::move(memory)),
      work_(*model_, pool_.get()),
      max_tokens_(options.max_tokens),
      states_(model_->decoder.layers.size()) {
  const auto count = static_cast<int64_t>(options.sources.size());
  for (int64_t row = 0; row < count; ++row) {
    const DecodingSource& source = options.sources[static_cast<size_t>(row)];
    sources_.push_back(
        {.begin = row, .end = row + 1, .first = source.first, .count = source.count});
  }
  next_.resize(sources_.size(), static_cast<int32_t>(model_->config.decoder_start_token_id));
  ended_.resize(sources_.size());
  reserve_rows();
  reserve_tokens();
}

void CpuDecoding::reserve_rows() {
  work_.reserve(rows());
  x_.reserve_floats(rows() * model_->config.d_model);
  logits_.reserve_floats(rows() * model_->config.vocab_size);
  for (const CpuLayer& layer : model_->decoder.layers) {
    projected_.reserve_floats(rows() * layer.mixer->input.shape.outputs);
    workspace_bytes_ = std::max(workspace_bytes_, layer.mixer->workspace_bytes(1));
  }
  constexpr int64_t kLine = kernels::kPackedAlignment;
  workspace_bytes_ = (workspace_bytes_ + kLine - 1) / kLine * kLine;
  workspaces_.reserve(workspace_bytes_ * pool_->threads());
  ids_.reserve(next_.size() * kStepsBetweenReads);
  log_probabilities_.reserve(next_.size() * kStepsBetweenReads);
}

// Room for one more token in each state.
void CpuDecoding::reserve_tokens() {
  if (steps_ < capacity_) return;
  const int64_t more = std::min(std::max(kFirstCapacity, 2 * capacity_), max_tokens_);
  for (size_t i = 0; i < states_.size(); ++i) {
    const CpuMixer& mixer = *model_->decoder.layers[i].mixer;
    const int64_t before = mixer.state_values(capacity_), after = mixer.state_values(more);
    if (before == after && capacity_ > 0) continue;
    std::vector<float> larger(static_cast<size_t>(rows() * after));
    for (int64_t row = 0; row < rows() && capacity_ > 0; ++row) {
      std::copy_n(states_[i].begin() + row * before, before, larger.begin() + row * after);
    }
    states_[i] = std::move(larger);
  }
  capacity_ = more;
}

void CpuDecoding::step(const Select& select) {
  const ModelConfig& config = model_->config;
  if (steps_ >= max_tokens_ && config.positions == Positions::Learned) {
    require(max_tokens_ < config.max_positions,
            "sequence of {} tokens is longer than max_positions {}", steps_ + 1,
            config.max_positions);
  }
  require(steps_ < max_tokens_, "decoding was started for {} tokens; it cannot go on", max_tokens_);
  for (const int32_t id : select.given) check_token(config, id);
  reserve_tokens();
  if (rows() > 0) decode();
  ids_.resize(ids_.size() + next_.size());
  log_probabilities_.resize(ids_.size());
  pool_->run(rows(), [&](int64_t row, int64_t) { choose(row, select); });
  ++steps_;
}

// The logits of the next token of each row.
void CpuDecoding::decode() {
  const CpuStack& stack = model_->decoder;
  const int64_t d = model_->config.d_model;
  for (int64_t row = 0; row < rows(); ++row) {
    embed_token(*model_, stack, next_[static_cast<size_t>(row)], steps_, x_.floats() + row * d);
  }
  work_.begin(x_.floats(), rows());
  for (size_t i = 0; i < stack.layers.size(); ++i) {
    const CpuMixer& mixer = *stack.layers[i].mixer;
    work_.project(stack.layers[i], projected_.floats());
    const int64_t state_values = mixer.state_values(capacity_);
    pool_->run(rows(), [&](int64_t row, int64_t thread) {
      mixer.step({.projected = projected_.floats() + row * mixer.input.shape.outputs,
                  .position = steps_,
                  .state = states_[i].data() + row * state_values,
                  .mixed = work_.mixed() + row * mixer.output.shape.inputs},
                 workspaces_.data() + thread * workspace_bytes_);
    });
    work_.finish(stack.layers[i], memory_.layers()[i], sources_);
  }
  work_.logits(0, rows(), logits_.floats());
}

void CpuDecoding::choose(int64_t row, const Select& select) {
  const ModelConfig& config = model_->config;
  const auto at = static_cast<size_t>(row);
  const float* logits = logits_.floats() + row * config.vocab_size;
  auto id = static_cast<int32_t>(config.pad_token_id);
  float log_probability = 0;
  if (ended_[at] == 0) {
    const auto best = kernels::likeliest_token(logits, config.vocab_size, model_->level);
    id = select.given.empty() ? static_cast<int32_t>(best.id) : select.given[at];
    log_probability = best.log_probability + (logits[id] - logits[best.id]);
    ended_[at] = id == config.eos_token_id ? 1 : 0;
  }
  next_[at] = id;
  ids_[ids_.size() - next_.size() + at] = id;
  log_probabilities_[ids_.size() - next_.size() + at] = log_probability;
}

std::vector<ChosenTokens> CpuDecoding::read() {
  std::vector<ChosenTokens> steps;
  for (size_t first = 0; first < ids_.size(); first += next_.size()) {
    const auto begin = static_cast<std::ptrdiff_t>(first), count = std::ssize(next_);
    steps.push_back({.ids = {ids_.begin() + begin, ids_.begin() + begin + count},
                     .log_probabilities = {log_probabilities_.begin() + begin,
                                           log_probabilities_.begin() + begin + count}});
  }
  ids_.clear();
  log_probabilities_.clear();
  return steps;
}

void CpuDecoding::reorder(std::span<const int64_t> rows) {
  const auto former = [&](const auto& values) {
    std::remove_cvref_t<decltype(values)> reordered;
    for (const int64_t row : rows) reordered.push_back(values[static_cast<size_t>(row)]);
    return reordered;
  };
  for (size_t i = 0; i < states_.size(); ++i) {
    const int64_t values = model_->decoder.layers[i].mixer->state_values(capacity_);
    std::vector<float> reordered;
    reordered.reserve(rows.size() * static_cast<size_t>(values));
    for (const int64_t row : rows) {
      const auto first = states_[i].begin() + row * values;
      reordered.insert(reordered.end(), first, first + values);
    }
    states_[i] = std::move(reordered);
  }
  sources_ = former(sources_);
  for (int64_t row = 0; row < std::ssize(sources_); ++row) {
    sources_[static_cast<size_t>(row)].begin = row;
    sources_[static_cast<size_t>(row)].end = row + 1;
  }
  next_ = former(next_);
  ended_ = former(ended_);
  reserve_rows();
}

}  // namespace convseq
