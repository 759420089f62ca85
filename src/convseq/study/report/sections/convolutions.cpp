#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/base/counted.h"
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

Field with_accuracy(const Context& context, Field field, Start start) {
  std::erase_if(field.tasks, [&](const std::string& task) {
    return !is_accuracy(*context.find(*field.models.front(), start, task));
  });
  return field;
}

struct Rank {
  const Model* model;
  Estimate mean;
  int64_t pretrainings;                     // the fewest of any task
  std::optional<Estimate> difference = {};  // to the first
};

std::vector<Rank> ranking(const Context& context, const Field& field, Start start) {
  std::vector<Rank> ranks;
  for (const Model* model : field.models) {
    const auto systems = systems_on(context, *model, start, field.tasks);
    ranks.push_back({model, mean_over_tasks(systems), fewest_pretrainings(systems)});
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Rank& a, const Rank& b) { return a.mean.value > b.mean.value + 1e-9; });
  const auto best = systems_on(context, *ranks.front().model, start, field.tasks);
  for (Rank& rank : ranks) {
    if (&rank == &ranks.front()) continue;
    rank.difference = mean_over_tasks(systems_on(context, *rank.model, start, field.tasks), best);
  }
  return ranks;
}

Table means(const std::vector<Rank>& ranks, const Field& field, Start start,
            const char* score = "score") {
  Table table{fmt::format("Mean test {} over the {} tasks that all convolutions have, {}", score,
                          field.tasks.size(), title_of(start)),
              {"model", "pre-trainings", "mean", "against the first", "the model is"},
              {}};
  for (const Rank& rank : ranks) {
    std::vector<TableCell> row = {
        rank.model->name, rank.pretrainings > 0 ? std::to_string(rank.pretrainings) : kMissing,
        share_text(rank.mean)};
    add_difference(row, rank.difference);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The first, and how far behind it the others are.
std::string best_text(const std::vector<Rank>& ranks, const Field& field, Start start) {
  std::vector<std::string> others;
  for (const Rank& rank : ranks) {
    if (!rank.difference) continue;
    others.push_back(
        fmt::format("{} {} ({}{})", rank.model->name, difference_text(*rank.difference),
                    text_of(finding_of(*rank.difference)), luck_text(rank.pretrainings == 1)));
  }
  const Rank& first = ranks.front();
  return fmt::format("{}, {} has the highest mean over {}, {}{}; against it: {}.",
                     sentence_start_of(start), first.model->name,
                     counted(std::ssize(field.tasks), "task"), share_text(first.mean),
                     luck_note(first.pretrainings == 1), fmt::join(others, ", "));
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
    const auto ranks = ranking(context, field, start);
    section.add_answer(best_text(ranks, field, start));
    section.blocks.emplace_back(means(ranks, field, start));
    const Field accuracies = with_accuracy(context, field, start);
    if (!accuracies.tasks.empty() && accuracies.tasks.size() < field.tasks.size()) {
      section.blocks.emplace_back(
          means(ranking(context, accuracies, start), accuracies, start, "accuracy"));
    }
    section.blocks.emplace_back(scores(context, field, start));
  }
  return section;
}

}  // namespace convseq::report
