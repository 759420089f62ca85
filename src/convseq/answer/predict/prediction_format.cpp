#include "convseq/answer/predict/prediction_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "convseq/base/file/json_file.h"

namespace convseq {
namespace {

double rounded(double probability) { return std::round(probability * 1e6) / 1e6; }

// A field of a line: what would end it becomes a space.
std::string one_field(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string joined(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : "\t") + one_field(fields[i]);
  return line + "\n";
}

std::string as_text(double probability) { return fmt::format("{:.6f}", probability); }

}  // namespace

PredictionFormat::PredictionFormat(const PredictionFormatOptions& options)
    : form_(options.form),
      decision_(options.decision),
      top_(options.top),
      fills_spans_(options.fills_spans) {}

// TSV: row, label(s) and the listed probabilities, or text and filled text; tokens_cut, error.
std::string PredictionFormat::header() const {
  if (form_ != PredictionForm::Tsv) return "";
  std::vector<std::string> names{"row"};
  if (decision_ == nullptr) {
    names.emplace_back("text");
    if (fills_spans_) names.emplace_back("filled");
  } else {
    names.emplace_back(decision_->kind() == LabelKind::Multi ? "labels" : "label");
    const int64_t labels = std::ssize(decision_->labels());
    for (int64_t place = 1; place <= std::min(top_, labels); ++place) {
      names.push_back(fmt::format("label_{}", place));
      names.push_back(fmt::format("probability_{}", place));
    }
    if (top_ == 0) {
      names.insert(names.end(), decision_->labels().begin(), decision_->labels().end());
    }
  }
  names.insert(names.end(), {"tokens_cut", "error"});
  return joined(names);
}

std::string PredictionFormat::line(const Prediction& prediction) const {
  switch (form_) {
    case PredictionForm::JsonLines:
      return json(prediction);
    case PredictionForm::Tsv:
      return tsv(prediction);
    default: {
      const bool labels = decision_ != nullptr && prediction.error.empty();
      return joined({labels ? decision_->text_of(prediction.answer)
                            : prediction.filled.value_or(prediction.text)});
    }
  }
}

std::string PredictionFormat::json(const Prediction& prediction) const {
  Json line = {{"row", prediction.row}};
  const LabelAnswer& answer = prediction.answer;
  if (!prediction.error.empty()) {
    line["error"] = prediction.error;
  } else if (decision_ == nullptr) {
    line["text"] = prediction.text;
    if (prediction.filled) line["filled"] = *prediction.filled;
  } else {
    if (decision_->kind() == LabelKind::Multi) {
      line["labels"] = Json::array();
      for (size_t label : answer.chosen) line["labels"].push_back(decision_->labels()[label]);
    } else {
      line["label"] = decision_->labels()[answer.chosen.front()];
      line["probability"] = rounded(answer.probabilities[answer.chosen.front()]);
    }
    Json& probabilities = line["probabilities"] = Json::object();
    for (size_t label : listed(answer)) {
      probabilities[decision_->labels()[label]] = rounded(answer.probabilities[label]);
    }
  }
  if (prediction.tokens_cut > 0) line["tokens_cut"] = prediction.tokens_cut;
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string PredictionFormat::tsv(const Prediction& prediction) const {
  std::vector<std::string> fields{fmt::format("{}", prediction.row)};
  if (decision_ == nullptr) {
    fields.push_back(prediction.text);
    if (fills_spans_) fields.push_back(prediction.filled.value_or(""));
  } else if (prediction.error.empty()) {
    const LabelAnswer& answer = prediction.answer;
    fields.push_back(decision_->text_of(answer));
    for (size_t label : listed(answer)) {
      if (top_ > 0) fields.push_back(decision_->labels()[label]);
      fields.push_back(as_text(answer.probabilities[label]));
    }
  } else {
    const int64_t labels = std::ssize(decision_->labels());
    const int64_t empty = 1 + (top_ > 0 ? 2 * std::min(top_, labels) : labels);
    fields.resize(fields.size() + static_cast<size_t>(empty));
  }
  fields.push_back(fmt::format("{}", prediction.tokens_cut));
  fields.push_back(prediction.error);
  return joined(fields);
}

std::vector<size_t> PredictionFormat::listed(const LabelAnswer& answer) const {
  std::vector<size_t> labels(answer.probabilities.size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  if (top_ == 0) return labels;
  std::stable_sort(labels.begin(), labels.end(), [&](size_t a, size_t b) {
    return answer.probabilities[a] > answer.probabilities[b];
  });
  labels.resize(std::min(labels.size(), static_cast<size_t>(top_)));
  return labels;
}

}  // namespace convseq
