#pragma once

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {

// What was set differently for two systems beside their size: "fine-tuning schedule (constant,
// linear)". The learning rate of fine-tuning, which is chosen, is not among them.
std::vector<std::string> differing_settings(const Context& context, const System& first,
                                            const System& second);

}  // namespace convseq::report
