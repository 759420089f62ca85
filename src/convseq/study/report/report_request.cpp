#include "convseq/study/report/report_request.h"

#include <map>

#include "convseq/base/log.h"
#include "convseq/spec/presets.h"
#include "convseq/study/report/own_results.h"
#include "convseq/study/report/study_report.h"

namespace convseq::report {
namespace {

// "RQ1, RQ2" to its questions.
std::vector<std::string> questions_in(const std::string& text) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : text + ",") {
    if (c == ' ') continue;
    if (c != ',') {
      word += c;
    } else if (!word.empty()) {
      found.push_back(std::exchange(word, ""));
    }
  }
  return found;
}

}  // namespace

std::string ReportRequest::command() const {
  std::string text = "convseq study report " + study;
  for (const auto& path : scores) text += " --scores " + path.string();
  for (const auto& path : benches) text += " --bench " + path.string();
  return text + " --to " + to.string();
}

ReportInput read_report_input(const ReportRequest& request) {
  const Study study = Study::load(request.study);
  ReportInput input{.name = study.name,
                    .description = study.description,
                    .command = request.command(),
                    .count_collapsed = study.count_collapsed};
  for (const StudyPart& part : study.parts) {
    const size_t systems = part.models.size() * part.starts.size() * part.tasks.size();
    input.parts.push_back({part.name, questions_in(part.question), part.models, part.tasks,
                           static_cast<int64_t>(systems) * part.seeds});
  }
  for (const auto& [name, model] : study.models) {
    std::vector<std::string> changes = model.overrides;
    for (const auto& [stage, settings] :
         {std::pair("pre-training", &model.pretraining), {"fine-tuning", &model.finetuning}}) {
      for (const auto& [key, value] : settings->items()) {
        changes.push_back(fmt::format("{} {}={}", stage, key, value.dump()));
      }
    }
    input.models.push_back(
        {name, model.preset, std::move(changes), find_model_config(model.preset, model.overrides)});
  }
  std::map<std::string, size_t> places;  // by cell
  for (const auto& path : request.scores) {
    for (CellResult& result : read_scores(path)) {
      const auto [place, is_new] = places.try_emplace(result.id, input.results.size());
      if (is_new) {
        input.results.push_back(std::move(result));
      } else if (!input.results[place->second].failed.empty()) {
        input.results[place->second] = std::move(result);
      }
    }
  }
  input.left_out = leave_out_other_models(input);
  for (const std::string& line : input.left_out) log::warning("left out: {}", line);
  refuse_repeated_runs(input.results);
  for (const auto& path : request.benches) input.benches.push_back(read_bench_file(path));
  return input;
}

}  // namespace convseq::report
