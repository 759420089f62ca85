#pragma once

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {

// Of training, as they entered the id of a cell; empty without a result.
Json settings_in(const CellResult* result);

// The keys whose values differ, with both: "schedule (constant, linear)", "settings.epochs (3, 6)".
std::vector<std::string> json_differences(const Json& first, const Json& second);

// What was set differently for two systems beside their size: "fine-tuning schedule (constant,
// linear)". The learning rate of fine-tuning, which is chosen, is not among them.
std::vector<std::string> differing_settings(const Context& context, const System& first,
                                            const System& second);

}  // namespace convseq::report
