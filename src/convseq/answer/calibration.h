#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq {

// The file of a model folder that holds its calibration.
inline constexpr const char* kCalibrationFile = "calibration.json";

// What was fitted to validation data after training: applied by every command that answers with
// labels.
struct Calibration {
  double temperature = 1;  // scores are divided by it before softmax or sigmoids
  std::map<std::string, double> thresholds = {};  // of probabilities, by label
  Json fitted = nullptr;  // to what: task, split with its files, number of examples, goal

  bool operator==(const Calibration&) const = default;

  Json to_json() const;
  static Calibration from_json(const JsonObject& json);
  // Of a model folder; the default where it has none.
  static Calibration load(const std::filesystem::path& folder);
  void save(const std::filesystem::path& folder) const;
};

}  // namespace convseq
