#pragma once

#include <string_view>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/data/synth/family/task_family.h"
#include "convseq/data/synth/grammar/clause.h"

namespace convseq::synth {

// Structures that never occur in training; each is a category of the generalisation split.
enum class Novelty {
  NounAsObject,    // a noun that is only a subject in training
  NounAsSubject,   // a noun that is only an object in training
  VerbInPassive,   // a verb that is only active in training
  VerbInActive,    // a verb that is only passive in training
  DeeperClause,    // a deeper nesting of clauses
  LongerPlace,     // more places in one noun phrase
  PlaceOnSubject,  // places belong to objects only in training
};

struct CompositionalOptions {
  int64_t depth = 2;   // nesting of clauses in training; up to two more in generalisation
  int64_t places = 2;  // in one noun phrase in training; up to two more in generalisation
};

// (d) Sentence to logical form. Training, validation and test sentences show no novelty; each
// sentence of the generalisation split shows exactly one.
class Compositional : public TaskFamily {
 public:
  explicit Compositional(const CompositionalOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

  std::vector<Novelty> novelties_of(const Clause& clause) const;  // each once

 private:
  CompositionalOptions options_;
};

}  // namespace convseq::synth

template <>
inline constexpr auto convseq::kEnumNames<convseq::synth::Novelty> =
    std::to_array<convseq::EnumName<convseq::synth::Novelty>>(
        {{convseq::synth::Novelty::NounAsObject, "noun as object"},
         {convseq::synth::Novelty::NounAsSubject, "noun as subject"},
         {convseq::synth::Novelty::VerbInPassive, "verb in passive"},
         {convseq::synth::Novelty::VerbInActive, "verb in active"},
         {convseq::synth::Novelty::DeeperClause, "deeper clause"},
         {convseq::synth::Novelty::LongerPlace, "longer place"},
         {convseq::synth::Novelty::PlaceOnSubject, "place on subject"}});
