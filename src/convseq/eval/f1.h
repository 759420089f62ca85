#pragma once

#include <span>
#include <string>
#include <vector>

#include "convseq/eval/bootstrap.h"
#include "convseq/eval/outcome.h"

namespace convseq {

// F1 of a class = 2PR / (P + R) = 2 right / (answered + true). Where the class is neither answered
// nor true that is 0 / 0: `f1_of` then gives 0, `macro_f1_of` leaves the class out.
Statistic f1_of(std::span<const Outcome> outcomes, const std::string& positive_label);

// The mean F1 over `labels`; none given: over all that are true somewhere. An answer that is no
// label is wrong, but no class of its own.
Statistic macro_f1_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels);

// The F1 of the counts summed over `labels`, so that frequent labels weigh more. With one label per
// example it is the accuracy, as long as all answers are labels.
Statistic micro_f1_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels);

}  // namespace convseq
