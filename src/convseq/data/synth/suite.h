#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/data/synth/baselines.h"
#include "convseq/data/synth/family/task_family.h"
#include "convseq/data/synth/task_data.h"

namespace convseq::synth {

enum class Family { Lexical, Scope, LongRange, Compositional, Pair, Span };

// The tasks, their sizes and difficulties. A list gives one task per entry.
struct SuiteOptions {
  uint64_t seed = 1;
  std::vector<Family> families = {Family::Lexical,       Family::Scope, Family::LongRange,
                                  Family::Compositional, Family::Pair,  Family::Span};
  SplitSizes sizes = {};
  double shown_share = 0.5;                       // lexical, scope: polar words shown in training
  int64_t sentences = 1;                          // lexical, scope, span: plain sentences
  std::vector<int64_t> windows = {0, 2};          // scope: words between a negation and its word
  std::vector<int64_t> distances = {8, 32, 128};  // long range: words between the two that decide
  int64_t cue_words = 8;                          // long range: of each polarity
  int64_t depth = 2;                              // compositional: nesting of clauses
  int64_t places = 2;                             // compositional: places in one noun phrase
  std::vector<int64_t> comparisons = {1, 2, 4};   // pair
  std::vector<int64_t> facts = {4};               // span: in one context
  std::function<void()> poll = [] {};             // called often; an exception ends the work
};

// The one place that knows every family.
std::vector<std::unique_ptr<TaskFamily>> make_families(const SuiteOptions& options);

// An estimate of the memory of write_suite() in bytes: that of its largest task, from the texts of
// a first draw.
double suite_memory(const SuiteOptions& options);

// Writes to `folder`, which must be new or empty: one folder per task, with one file of JSON lines
// per split and task.json, and baselines.json for all of them.
std::vector<Baseline> write_suite(const std::filesystem::path& folder, const SuiteOptions& options);

}  // namespace convseq::synth

template <>
inline constexpr auto convseq::kEnumNames<convseq::synth::Family> =
    std::to_array<convseq::EnumName<convseq::synth::Family>>(
        {{convseq::synth::Family::Lexical, "lexical"},
         {convseq::synth::Family::Scope, "scope"},
         {convseq::synth::Family::LongRange, "long_range"},
         {convseq::synth::Family::Compositional, "compositional"},
         {convseq::synth::Family::Pair, "pair"},
         {convseq::synth::Family::Span, "span"}});
