#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/base/contains.h"
#include "convseq/base/counted.h"
#include "convseq/study/report/sections/comparison.h"

namespace convseq::report {
namespace {

const std::vector<std::string> kAttentionQuestions = {"RQ4"};

const System* find_system(const Context& context, const Model& model, const std::string& task) {
  return context.find(model, Start::Pretrained, task, kAttentionQuestions);
}

std::string layers_of(const Model& model) {
  if (model.is_transformer()) return "all, instead of convolutions";
  const auto& layers = model.config.encoder_attention_layers;
  if (layers.empty()) return "none";
  std::vector<int64_t> places;
  for (const int64_t layer : layers) places.push_back(layer + 1);
  return fmt::format("{}: after layer {} of {}", places.size(), fmt::join(places, ", "),
                     model.config.encoder_layers);
}

// That the others are compared with: of the main comparison, or else the first of `models`.
const Model* transformer_of(const Context& context, const std::vector<const Model*>& models) {
  if (const Model* main = context.transformer(); main != nullptr) return main;
  const auto found = std::ranges::find_if(models, &Model::is_transformer);
  return found == models.end() ? nullptr : *found;
}

// The models with added attention, each plain one before the first that is made from it, and the
// Transformers.
std::vector<const Model*> compared_models(const Context& context) {
  std::vector<const Model*> models;
  const auto add = [&](const Model* model) {
    if (model != nullptr && !contains(models, model)) {
      models.push_back(model);
    }
  };
  for (const Model* model : context.models(kAttentionQuestions)) {
    if (model->config.encoder_attention_layers.empty()) continue;
    add(context.unchanged(*model));
    add(model);
  }
  if (models.empty()) return models;
  add(context.transformer());
  for (const Model& model : context.input.models) {
    if (model.is_transformer() && model.changes.empty()) add(&model);
  }
  return models;
}

// Every model against the Transformer over the tasks of this section, and the models without
// scores.
std::string attention_answer(const Context& context, const std::vector<const Model*>& models) {
  std::vector<std::string> texts, missing;
  const Model* transformer = transformer_of(context, models);
  if (transformer == nullptr) return "";
  for (const Model* model : models) {
    if (model == transformer) continue;
    std::vector<TaskPair> pairs;
    for (const std::string& task : context.tasks(kAttentionQuestions)) {
      const System* own = find_system(context, *model, task);
      const System* theirs = find_system(context, *transformer, task);
      if (own != nullptr && theirs != nullptr) pairs.push_back({task, own, theirs});
    }
    if (pairs.empty()) {
      missing.push_back(model->name);
      continue;
    }
    const Comparison found = compare(*model, std::move(pairs));
    const std::string layers =
        counted(std::ssize(model->config.encoder_attention_layers), "attention layer");
    texts.push_back(fmt::format("{} ({}{}) {}, lower on {} of {}", model->name, layers,
                                luck_text(found), difference_text(found.mean), found.lower.size(),
                                counted(found.tasks(), "task")));
  }
  if (texts.empty()) return "";
  return fmt::format(
      "Pre-trained, mean difference to the Transformer: {}.{}", fmt::join(texts, "; "),
      missing.empty() ? "" : fmt::format(" No scores yet: {}.", fmt::join(missing, ", ")));
}

}  // namespace

Section attention_section(const Context& context) {
  Section section{"RQ4: where do convolutions fail, and how much attention fixes it?"};
  const auto models = compared_models(context);
  if (models.empty()) return section;
  const Model* transformer = transformer_of(context, models);
  for (const std::string& task : context.tasks(kAttentionQuestions)) {
    Table table{task + ", pre-trained",
                {"model", "attention layers in the encoder", "score", "against no attention",
                 "the model is", "against the Transformer", "the model is", "runs"},
                {}};
    for (const Model* model : models) {
      const System* system = find_system(context, *model, task);
      if (system == nullptr) continue;
      std::vector<TableCell> row = {model->name, layers_of(*model), text_of(figure_of(*system))};
      for (const Model* other : {context.unchanged(*model), transformer}) {
        const System* theirs =
            other == nullptr || other == model ? nullptr : find_system(context, *other, task);
        add_difference(row, difference_to(*system, theirs));
      }
      row.emplace_back("", run_links({system}));
      table.rows.push_back(std::move(row));
    }
    if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  }
  if (section.blocks.empty()) return section;
  section.answer = attention_answer(context, models);
  section.blocks.insert(
      section.blocks.begin(),
      Paragraph{
          "The paper prints for MultiNLI about 75 for convolutions, 84 for the Transformer and 83 "
          "for a convolution with one attention layer; for SQuAD (F1) about 70 and 90; for COGS "
          "about 95 for both."});
  return section;
}

}  // namespace convseq::report
