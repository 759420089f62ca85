#include <fmt/format.h>

#include <algorithm>

#include "convseq/study/report/sections/sections.h"

namespace convseq::report {
namespace {

// The models whose encoder has no attention, and the tasks that all of them have.
struct Field {
  std::vector<const Model*> models = {};
  std::vector<std::string> tasks = {};
};

Field convolutions(const Context& context, Start start) {
  Field field;
  for (const Model* model : context.models(kMainQuestions)) {
    if (model->config.has_self_attention(Side::Encoder)) continue;
    if (!common_tasks(context, {model}, start).empty()) field.models.push_back(model);
  }
  field.tasks = common_tasks(context, field.models, start);
  return field;
}

Table means(const Context& context, const Field& field, Start start) {
  struct Entry {
    const Model* model;
    Estimate mean;
  };
  std::vector<Entry> entries;
  for (const Model* model : field.models) {
    entries.push_back({model, mean_over_tasks(systems_on(context, *model, start, field.tasks))});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.mean.value > b.mean.value + 1e-9;
  });
  Table table{fmt::format("Mean test score over the {} tasks that all convolutions have, {}",
                          field.tasks.size(), title_of(start)),
              {"model", "mean", "against the first", "the model is"},
              {}};
  const auto best = systems_on(context, *entries.front().model, start, field.tasks);
  for (const Entry& entry : entries) {
    std::vector<TableCell> row = {entry.model->name, share_text(entry.mean)};
    std::optional<Estimate> difference;
    if (&entry != &entries.front()) {
      difference = mean_over_tasks(systems_on(context, *entry.model, start, field.tasks), best);
    }
    add_difference(row, difference);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table scores(const Context& context, const Field& field, Start start) {
  Table table{fmt::format("Test scores, {}", title_of(start)), {"task"}, {}};
  for (const Model* model : field.models) table.header.push_back(model->name);
  table.header.emplace_back("runs");
  for (const std::string& task : field.tasks) {
    std::vector<TableCell> row = {task};
    std::vector<const System*> shown;
    for (const Model* model : field.models) {
      const System* system = shown.emplace_back(context.find(*model, start, task));
      row.emplace_back(text_of(figure_of(*system)));
    }
    row.emplace_back("", run_links(shown));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Section convolution_section(const Context& context) {
  Section section{"RQ5: which convolution is best?"};
  for (const Start start : {Start::Pretrained, Start::Scratch}) {
    const Field field = convolutions(context, start);
    if (field.models.size() < 2 || field.tasks.empty()) continue;
    section.blocks.emplace_back(means(context, field, start));
    section.blocks.emplace_back(scores(context, field, start));
  }
  return section;
}

}  // namespace convseq::report
