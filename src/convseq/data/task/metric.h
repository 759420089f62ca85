#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// The metrics of a task, by their names in task files.
enum class Metric {
  Accuracy,
  F1,
  MacroF1,
  MicroF1,
  Matthews,
  RocAuc,
  AveragePrecision,
  CalibrationError,
  ExactMatch,
  SquadExactMatch,
  SquadF1
};
template <>
inline constexpr auto kEnumNames<Metric> =
    std::to_array<EnumName<Metric>>({{Metric::Accuracy, "accuracy"},
                                     {Metric::F1, "f1"},
                                     {Metric::MacroF1, "macro_f1"},
                                     {Metric::MicroF1, "micro_f1"},
                                     {Metric::Matthews, "matthews"},
                                     {Metric::RocAuc, "roc_auc"},
                                     {Metric::AveragePrecision, "average_precision"},
                                     {Metric::CalibrationError, "ece"},
                                     {Metric::ExactMatch, "exact_match"},
                                     {Metric::SquadExactMatch, "squad_exact_match"},
                                     {Metric::SquadF1, "squad_f1"}});

// Whether it is computed from the probabilities of the labels, which generated text does not have.
inline bool needs_probabilities(Metric metric) {
  return metric == Metric::RocAuc || metric == Metric::AveragePrecision ||
         metric == Metric::CalibrationError;
}

inline bool higher_is_better(Metric metric) { return metric != Metric::CalibrationError; }

}  // namespace convseq
