#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "convseq/answer/fit_calibration.h"

namespace convseq::cli {

// The flags of `evaluate` for the calibration of a model.
struct CalibrationFlags {
  CalibrationRequest fit;
  bool save = false;    // what was fitted, in the model folder
  bool ignore = false;  // the calibration that the folder has
};

void add_calibration_flags(CLI::App& command, CalibrationFlags& flags);

// That of the model folder, unless it is ignored. An Error names a threshold of no label of the
// task.
Calibration calibration_of(const CalibrationFlags& flags, const std::filesystem::path& model,
                           const Task& task);

// The split to fit to by default. An Error where only test data are named: what is fitted to them
// cannot be evaluated on them.
std::string split_to_fit(const Task& task, const std::string& given);

// What calibration.json remembers of the fit.
Json fit_record(const CalibrationFlags& flags, const Task& task, const std::string& split,
                size_t examples);

// "temperature 1.31, threshold of toxic 0.42"; empty for one that changes nothing.
std::string describe(const Calibration& calibration);

}  // namespace convseq::cli
