#pragma once

#include "convseq/base/enum_names.h"

namespace convseq {

// The metrics of a task, by their names in task files.
enum class Metric { Accuracy, F1, MacroF1, ExactMatch, SquadExactMatch, SquadF1 };
template <>
inline constexpr auto kEnumNames<Metric> =
    std::to_array<EnumName<Metric>>({{Metric::Accuracy, "accuracy"},
                                     {Metric::F1, "f1"},
                                     {Metric::MacroF1, "macro_f1"},
                                     {Metric::ExactMatch, "exact_match"},
                                     {Metric::SquadExactMatch, "squad_exact_match"},
                                     {Metric::SquadF1, "squad_f1"}});

}  // namespace convseq
