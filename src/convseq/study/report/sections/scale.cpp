#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "convseq/base/counted.h"
#include "convseq/study/report/sections/comparison.h"
#include "convseq/study/report/sections/differing_settings.h"

namespace convseq::report {
namespace {

// Pre-trained systems of one size by model and task.
using ByTask = std::map<std::string, const System*>;
struct Size {
  std::string name;
  std::map<std::string, ByTask> models = {};

  int64_t parameters(const std::string& model) const {
    return models.at(model).begin()->second->runs.front()->parameters;
  }
};

// In the order of their parameters, the unchanged models of the main comparison.
std::vector<Size> sizes_of(const Context& context) {
  std::vector<Size> sizes;
  for (const System& system : context.systems.all()) {
    const Model* model = context.input.model(system.model);
    const bool in_main = std::any_of(
        context.input.parts.begin(), context.input.parts.end(),
        [&](const Part& part) { return part.name == system.part && part.asks(kMainQuestions); });
    if (model == nullptr || !model->changes.empty() || system.start != Start::Pretrained ||
        !in_main || system.size.empty()) {
      continue;
    }
    auto size = std::ranges::find(sizes, system.size, &Size::name);
    if (size == sizes.end()) size = sizes.insert(size, {system.size});
    size->models[system.model].try_emplace(system.task, &system);
  }
  std::stable_sort(sizes.begin(), sizes.end(), [](const Size& a, const Size& b) {
    return a.parameters(a.models.begin()->first) < b.parameters(b.models.begin()->first);
  });
  return sizes;
}

// The tasks that all of `models` have at every size; none if a model is missing somewhere.
std::vector<std::string> shared_tasks(const Context& context, const std::vector<Size>& sizes,
                                      const std::vector<std::string>& models) {
  std::vector<std::string> tasks = context.tasks(kMainQuestions);
  std::erase_if(tasks, [&](const std::string& task) {
    return !std::all_of(sizes.begin(), sizes.end(), [&](const Size& size) {
      return std::all_of(models.begin(), models.end(), [&](const std::string& model) {
        const auto found = size.models.find(model);
        return found != size.models.end() && found->second.contains(task);
      });
    });
  });
  return tasks;
}

std::vector<const System*> on_tasks(const Size& size, const std::string& model,
                                    const std::vector<std::string>& tasks) {
  std::vector<const System*> systems;
  for (const std::string& task : tasks) systems.push_back(size.models.at(model).at(task));
  return systems;
}

// One model against the Transformer at every size, on the tasks that both have at all of them.
struct Standing {
  const Model* model;
  std::vector<std::string> tasks;
  std::vector<Comparison> by_size;
  Estimate change;  // of the mean difference, from the smallest size to the largest
};

std::vector<Standing> standings(const Context& context, const std::vector<Size>& sizes,
                                const std::string& baseline) {
  std::vector<Standing> found;
  for (const Model* model : context.models(kMainQuestions)) {
    const std::string& name = model->name;
    if (name == baseline) continue;
    const auto tasks = shared_tasks(context, sizes, {name, baseline});
    if (tasks.empty()) continue;
    Standing standing{model, tasks, {}, {}};
    for (const Size& size : sizes) {
      std::vector<TaskPair> pairs;
      for (const std::string& task : tasks) {
        pairs.push_back({task, size.models.at(name).at(task), size.models.at(baseline).at(task)});
      }
      standing.by_size.push_back(compare(*model, std::move(pairs)));
    }
    const Size &small = sizes.front(), &large = sizes.back();
    standing.change = mean_over_tasks({{on_tasks(large, name, tasks), 1},
                                       {on_tasks(large, baseline, tasks), -1},
                                       {on_tasks(small, name, tasks), -1},
                                       {on_tasks(small, baseline, tasks), 1}});
    found.push_back(std::move(standing));
  }
  return found;
}

Table standing_table(const std::vector<Size>& sizes, const std::string& baseline,
                     const std::vector<Standing>& found) {
  Table table{"Mean test score, pre-trained, against the Transformer of the same size",
              {"model", "size", "parameters", "tasks", "pre-trainings", "mean", "Transformer",
               "difference", "the model is", "higher on", "lower on", "runs"},
              {}};
  for (const Standing& standing : found) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string& name = standing.model->name;
      const auto own = on_tasks(sizes[i], name, standing.tasks);
      const Comparison& comparison = standing.by_size[i];
      std::vector<TableCell> row = {
          name,
          sizes[i].name,
          grouped(sizes[i].parameters(name)),
          std::to_string(standing.tasks.size()),
          pretrainings_text(comparison),
          share_text(mean_over_tasks(own)),
          share_text(mean_over_tasks(on_tasks(sizes[i], baseline, standing.tasks)))};
      add_difference(row, comparison.mean);
      row.emplace_back(std::to_string(comparison.higher.size()));
      row.emplace_back(std::to_string(comparison.lower.size()));
      row.emplace_back("", run_links(own));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

// The models of each size from the highest mean to the lowest, on the tasks that all have.
struct Order {
  std::vector<std::string> tasks = {};
  std::vector<std::vector<std::string>> by_size = {};
};

Order order_of(const Context& context, const std::vector<Size>& sizes,
               const std::vector<std::string>& models) {
  Order order{shared_tasks(context, sizes, models)};
  if (order.tasks.empty()) return order;
  for (const Size& size : sizes) {
    std::vector<std::pair<double, std::string>> means;
    for (const std::string& model : models) {
      means.emplace_back(mean_over_tasks(on_tasks(size, model, order.tasks)).value, model);
    }
    std::stable_sort(means.begin(), means.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first + 1e-9; });
    auto& names = order.by_size.emplace_back();
    for (const auto& [mean, model] : means) names.push_back(model);
  }
  return order;
}

std::string scale_answer(const std::vector<Size>& sizes, const std::vector<Standing>& found,
                         const Order& order) {
  std::vector<std::string> texts;
  for (const Standing& standing : found) {
    std::vector<std::string> differences;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Comparison& comparison = standing.by_size[i];
      differences.push_back(fmt::format("{} at {}{}", difference_text(comparison.mean),
                                        sizes[i].name,
                                        luck_note(comparison.has_single_pretraining())));
    }
    texts.push_back(
        fmt::format("{} {} ({}; the change is {}, {})", standing.model->name,
                    fmt::join(differences, ", "), counted(std::ssize(standing.tasks), "task"),
                    difference_text(standing.change), text_of(finding_of(standing.change))));
  }
  std::string answer = fmt::format("Mean difference to the Transformer of the same size: {}.",
                                   fmt::join(texts, "; "));
  if (order.by_size.empty()) return answer;
  std::vector<std::string> orders;
  for (size_t i = 0; i < sizes.size(); ++i) {
    orders.push_back(fmt::format("{} at {}", fmt::join(order.by_size[i], ", "), sizes[i].name));
  }
  return answer + fmt::format(" By their means over {}, decided or not: {}.",
                              counted(std::ssize(order.tasks), "task"), fmt::join(orders, "; "));
}

Plot mean_plot(const std::vector<Size>& sizes, const std::vector<std::string>& models,
               const std::vector<std::string>& tasks) {
  LineChart chart{
      .x_label = "parameters, millions", .y_label = "mean test score, percent", .log_x = true};
  for (const std::string& model : models) {
    LineChart::Series series{model};
    for (const Size& size : sizes) {
      const Estimate mean = mean_over_tasks(on_tasks(size, model, tasks));
      series.points.push_back({static_cast<double>(size.parameters(model)) / 1e6, 100 * mean.value,
                               score_interval(mean)});
    }
    chart.series.push_back(std::move(series));
  }
  return {"scale.svg",
          fmt::format("Mean test score over {} against size, pre-trained.",
                      counted(std::ssize(tasks), "task")),
          draw(chart)};
}

Plot task_plot(const std::vector<Size>& sizes, const std::vector<Standing>& found) {
  IntervalChart chart{.x_label = "difference to the Transformer of the same size, points",
                      .zero_line = true};
  std::map<std::string, IntervalChart::Row> rows;
  std::vector<std::string> tasks;
  for (const Standing& standing : found) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      chart.series.push_back(fmt::format("{}, {}", standing.model->name,
                                         sizes[i].name.substr(0, sizes[i].name.find(','))));
      for (const TaskPair& pair : standing.by_size[i].pairs) {
        const Estimate difference = *difference_to(*pair.first, pair.second);
        auto [row, is_new] = rows.try_emplace(pair.task, IntervalChart::Row{pair.task});
        if (is_new) tasks.push_back(pair.task);
        row->second.marks.push_back({.series = chart.series.size() - 1,
                                     .value = 100 * difference.value,
                                     .interval = in_percent(difference.interval)});
      }
    }
  }
  for (const std::string& task : tasks) chart.rows.push_back(std::move(rows.at(task)));
  return {"scale-tasks.svg",
          "Difference to the Transformer of the same size, by task: means with 95% intervals.",
          draw(chart)};
}

}  // namespace

Section scale_section(const Context& context) {
  Section section{"Scale: does the ranking change with size?"};
  const auto sizes = sizes_of(context);
  const Model* transformer = context.transformer();
  if (sizes.size() < 2 || transformer == nullptr) return section;
  const auto found = standings(context, sizes, transformer->name);
  if (found.empty()) return section;
  std::vector<std::string> models;  // in the order of the study file
  for (const Model* model : context.models(kMainQuestions)) {
    const bool compared = std::any_of(found.begin(), found.end(), [&](const Standing& standing) {
      return standing.model == model;
    });
    if (compared || model == transformer) models.push_back(model->name);
  }
  const Order order = order_of(context, sizes, models);
  section.answer = scale_answer(sizes, found, order);
  section.blocks.emplace_back(standing_table(sizes, transformer->name, found));
  if (!order.tasks.empty()) section.blocks.emplace_back(mean_plot(sizes, models, order.tasks));
  section.blocks.emplace_back(task_plot(sizes, found));
  const std::string& task = found.front().tasks.front();
  const auto differing =
      differing_settings(context, *sizes.front().models.at(transformer->name).at(task),
                         *sizes.back().models.at(transformer->name).at(task));
  if (!differing.empty()) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("Set differently at the smallest and at the largest size: {}. "
                              "Compare models within a size, "
                              "not one model across sizes.",
                              fmt::join(differing, "; "))});
  }
  return section;
}

}  // namespace convseq::report
