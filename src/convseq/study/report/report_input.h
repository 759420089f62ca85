#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convseq/spec/model_config.h"
#include "convseq/study/result.h"

namespace convseq::report {

struct Model {
  std::string name;                       // in the study file
  std::string preset;                     // it is made from
  std::vector<std::string> changes = {};  // to the preset: "glu=false"
  ModelConfig config = {};

  bool is_transformer() const { return config.mixer == MixerKind::Attention; }
};

struct Part {
  std::string name;
  std::vector<std::string> questions = {};  // "RQ1": the sections that show it
  std::vector<std::string> models = {};
  std::vector<std::string> tasks = {};
  int64_t planned_runs = 0;  // at the chosen learning rates; 0: not known

  bool asks(const std::vector<std::string>& any) const;
};

// A benchmark's results beside those of the study.
struct BenchFile {
  std::string name;  // "length-h200.json"
  Json json = nullptr;
};

// All that a report is made from; the same input gives the same bytes.
struct ReportInput {
  std::string name = {}, description = {};
  std::string command = {};      // that writes this report
  bool count_collapsed = false;  // in means
  std::vector<Part> parts = {};
  std::vector<Model> models = {};
  std::vector<CellResult> results = {};    // of this study, and of others at other sizes
  std::vector<std::string> left_out = {};  // how many results are not among them, and why
  std::vector<BenchFile> benches = {};

  const Model* model(const std::string& wanted) const;  // null: not in the study file
};

}  // namespace convseq::report
