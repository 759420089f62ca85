#include "convseq/cli/options/calibration_flags.h"

#include "convseq/base/contains.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

ThresholdRequest threshold_request(const std::string& text) {
  const NamedNumber given = named_number(text);
  const auto goal = enum_from_name<ThresholdGoal>(given.name);
  const bool has_value = given.number && *given.number > 0 && *given.number <= 1;
  if (goal && (*goal == ThresholdGoal::F1 ? !given.has_equals : has_value)) {
    return {.goal = *goal, .value = given.number.value_or(0)};
  }
  throw CLI::ValidationError(
      "--fit-threshold",
      fmt::format("{}; allowed: precision=NUMBER, recall=NUMBER (over 0, up to 1), f1", text));
}

}  // namespace

void add_calibration_flags(CLI::App& command, CalibrationFlags& flags) {
  command
      .add_option_function<std::string>(
          "--fit-threshold",
          [&flags](const std::string& text) { flags.fit.threshold = threshold_request(text); },
          "Fit the decision threshold of the positive label, or of each label of a multi-label "
          "model, on the validation split: precision=P = the highest recall with a precision of at "
          "least P, recall=R = the highest threshold with a recall of at least R, f1 = the highest "
          "F1")
      ->type_name("precision=P|recall=R|f1");
  add_count(command, "--fit-min-positives", flags.fit.min_positives,
            "Minimum number of examples with a label for its threshold to be fitted; other labels "
            "keep their stored threshold (in a multi-label model without one: 0.5)",
            {.max = kMostRows});
  command.add_flag("--fit-temperature", flags.fit.temperature,
                   "Fit the softmax or sigmoid temperature on the validation split");
  command.add_flag("--save", flags.save,
                   "Store the fitted values in the model folder (calibration.json)");
  command.add_flag("--no-calibration", flags.ignore,
                   "Ignore the temperature and the thresholds stored in the model folder");
}

Calibration calibration_of(const CalibrationFlags& flags, const std::filesystem::path& model,
                           const Task& task) {
  if (flags.ignore || task.labels.empty()) return {};
  Calibration calibration = Calibration::load(model);
  for (const auto& [label, threshold] : calibration.thresholds) {
    require(contains(task.labels, label),
            "{}: has a threshold of {}, which is not a label of {}; use --no-calibration",
            (model / kCalibrationFile).string(), label, task.name);
  }
  return calibration;
}

std::string split_to_fit(const Task& task, const std::string& given) {
  if (given.empty() && task.has_split("validation")) return "validation";
  require(!given.empty() || (task.files.size() == 1 && task.files.front().first != "test"),
          "{}: has no validation split to fit to; name its files with --validation", task.name);
  require(given != "test",
          "--split test: thresholds and temperatures are fitted to validation data");
  return given.empty() ? task.files.front().first : given;
}

Json fit_record(const CalibrationFlags& flags, const Task& task, const std::string& split,
                size_t examples) {
  Json record = {{"task", task.name}, {"split", split}, {"examples", examples}};
  for (const auto& file : task.files_of(split)) record["files"].push_back(file.string());
  if (flags.fit.threshold) record["threshold"] = flags.fit.threshold->describe();
  if (flags.fit.min_positives > 1) record["min_positives"] = flags.fit.min_positives;
  record["temperature"] = flags.fit.temperature;
  return record;
}

std::string describe(const Calibration& calibration) {
  std::string text;
  if (calibration.temperature != 1)
    text = fmt::format("temperature {:.4g}", calibration.temperature);
  for (const auto& [label, threshold] : calibration.thresholds) {
    text += fmt::format("{}threshold of {} {:.4g}", text.empty() ? "" : ", ", label, threshold);
  }
  return text;
}

}  // namespace convseq::cli
