#include "convseq/answer/calibration.h"

#include <cmath>

namespace convseq {

Json Calibration::to_json() const {
  Json json = {{"temperature", temperature}, {"thresholds", Json::object()}};
  for (const auto& [label, threshold] : thresholds) json["thresholds"][label] = threshold;
  if (!fitted.is_null()) json["fitted"] = fitted;
  return json;
}

Calibration Calibration::from_json(const JsonObject& json) {
  json.allow_only({"temperature", "thresholds", "fitted"});
  Calibration calibration;
  calibration.temperature = json.get_or("temperature", calibration.temperature);
  if (!(calibration.temperature > 0) || !std::isfinite(calibration.temperature)) {
    json.refuse("temperature", "is {}; allowed: a number above 0", calibration.temperature);
  }
  const JsonObject thresholds = json.inner("thresholds");
  for (const std::string& label : thresholds.keys()) {
    const auto threshold = thresholds.get<double>(label);
    if (!(threshold >= 0 && threshold <= 1)) {
      thresholds.refuse(label, "is {}; allowed: 0 to 1", threshold);
    }
    calibration.thresholds[label] = threshold;
  }
  if (json.has("fitted")) calibration.fitted = json.json().at("fitted");
  return calibration;
}

Calibration Calibration::load(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kCalibrationFile;
  if (!std::filesystem::exists(file)) return {};
  return from_json(JsonObject::from_file(file));
}

void Calibration::save(const std::filesystem::path& folder) const {
  write_json_file(folder / kCalibrationFile, to_json());
}

}  // namespace convseq
