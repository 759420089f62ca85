#include "convseq/study/report/own_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/differing_settings.h"
#include "convseq/study/report/systems.h"

namespace convseq::report {
namespace {

// What differs from the study's model, theirs first: "kernel_sizes (15, 7)"; empty: nothing.
std::string model_difference(const CellResult& result, const ModelConfig& own) {
  Json model = result.inputs["model"];
  model["vocab_size"] = own.vocab_size;  // the tokenizer decides it
  try {
    // Read, so that a key that came later counts with its default.
    const ModelConfig theirs = ModelConfig::from_json({model, "inputs"});
    return fmt::format("{}", fmt::join(json_differences(theirs.to_json(), own.to_json()), ", "));
  } catch (const Error& error) {
    return error.what();
  }
}

std::string why_left_out(const ReportInput& input, const CellResult& result) {
  const Model* model = input.model(result.model);
  if (model == nullptr || size_of(result) != size_of(model->config)) return "";
  return model_difference(result, model->config);
}

// "finetune, main, light, d=256, 4+4 layers, pretrained, sst2, seed 4, pre-training seed 1"
std::string names_of(const CellResult& result, const std::string& part) {
  std::vector<std::string> names = {std::string(name_of(result.kind)),
                                    part,
                                    result.model,
                                    size_of(result),
                                    std::string(name_of(result.start)),
                                    result.task,
                                    fmt::format("seed {}", result.seed)};
  if (result.pretraining_seed > 0) {
    names.push_back(fmt::format("pre-training seed {}", result.pretraining_seed));
  }
  std::erase(names, "");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string input_differences(const CellResult& first, const CellResult& second) {
  constexpr size_t kMostShown = 3;
  auto differences = json_differences(first.inputs, second.inputs);
  if (differences.empty()) return "what their inputs do not name";
  const bool more = differences.size() > kMostShown;
  if (more) differences.resize(kMostShown);
  return fmt::format("{}{}", fmt::join(differences, ", "), more ? ", …" : "");
}

}  // namespace

std::vector<std::string> leave_out_other_models(ReportInput& input) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;  // by model and reason
  std::erase_if(input.results, [&](const CellResult& result) {
    const std::string why = why_left_out(input, result);
    if (!why.empty()) ++counts[{result.model, why}];
    return !why.empty();
  });
  std::vector<std::string> lines;
  for (const auto& [kind, count] : counts) {
    lines.push_back(fmt::format("{} of {}, whose model is not the study's: {}",
                                counted(count, "result"), kind.first, kind.second));
  }
  return lines;
}

void refuse_repeated_runs(const std::vector<CellResult>& results) {
  std::map<std::pair<std::string, double>, const CellResult*> known;
  for (const CellResult& result : results) {
    const bool trains = result.kind == CellKind::Pretrain || result.kind == CellKind::Finetune;
    if (!trains || !result.failed.empty()) continue;
    for (const std::string& part : result.parts) {
      const std::string names = names_of(result, part);
      // Of the runs at the chosen rate there is one per seed, of the others one per rate.
      const double rate = result.chosen ? 0 : result.learning_rate;
      const auto [found, is_new] = known.try_emplace({names, rate}, &result);
      const CellResult& other = *found->second;
      if (is_new || other.id == result.id) continue;
      fail(
          "cells {} and {} are the same run by their names ({}), but differ in {}; give the scores "
          "of one of them",
          other.id.substr(0, 8), result.id.substr(0, 8), names, input_differences(other, result));
    }
  }
}

}  // namespace convseq::report
