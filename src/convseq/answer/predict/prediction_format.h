#pragma once

#include <string>

#include "convseq/answer/predict/predictor.h"
#include "convseq/base/enum_names.h"

namespace convseq {

enum class PredictionForm { JsonLines, Tsv, Labels };
template <>
inline constexpr auto kEnumNames<PredictionForm> =
    std::to_array<EnumName<PredictionForm>>({{PredictionForm::JsonLines, "jsonl"},
                                             {PredictionForm::Tsv, "tsv"},
                                             {PredictionForm::Labels, "labels"}});

struct PredictionFormatOptions {
  PredictionForm form = PredictionForm::JsonLines;
  const LabelDecision* decision = nullptr;  // outlives the format; null: answers are text
  int64_t top = 0;  // only the likeliest labels are listed with their probabilities, best first; 0:
                    // all labels, in the order of the task
  bool fills_spans = false;  // texts are answered with their spans filled
};

// Predictions as lines of text, exactly one per row.
class PredictionFormat {
 public:
  explicit PredictionFormat(const PredictionFormatOptions& options);

  std::string header() const;  // with its line end; empty: this form has none
  std::string line(const Prediction& prediction) const;  // with its line end

 private:
  std::string json(const Prediction& prediction) const;
  std::string tsv(const Prediction& prediction) const;
  std::vector<size_t> listed(const LabelAnswer& answer) const;  // labels, by their numbers

  PredictionForm form_;
  const LabelDecision* decision_;
  int64_t top_;
  bool fills_spans_;
};

}  // namespace convseq
