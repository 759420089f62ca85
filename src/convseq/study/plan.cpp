#include "convseq/study/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "convseq/base/contains.h"
#include "convseq/base/nearest_name.h"
#include "convseq/data/synth/family/task_family.h"
#include "convseq/spec/presets.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

// Later objects take precedence.
Json merged(std::initializer_list<Json> objects) {
  Json all = Json::object();
  for (const Json& each : objects) {
    for (const auto& [key, value] : each.items()) all[key] = value;
  }
  return all;
}

Json describe_model(const ModelConfig& config) {
  Json json = config.to_json();
  json.erase("vocab_size");  // the tokenizer decides it
  return json;
}

std::vector<std::string> synth_task_names(const StudySynth& synth) {
  std::vector<std::string> names;
  if (!synth.tasks) return names;
  for (const auto& family : synth::make_families(*synth.tasks)) {
    names.push_back(fmt::format("{}{}", kSynthPrefix, family->describe().name));
  }
  return names;
}

std::vector<double> rates_of(const Study& study, const StudyPart& part,
                             const StudyPlan::Group& group) {
  for (const auto* rates : {&part.learning_rates, &study.task(group.task).learning_rates,
                            &study.model(group.model).learning_rates}) {
    if (!rates->empty()) return *rates;
  }
  return study.learning_rates;
}

// The main metric on the validation split; none for a failed run.
std::optional<double> validation_score(const CellResult& result) {
  const auto found = result.splits.find("validation");
  if (!result.failed.empty() || found == result.splits.end()) return std::nullopt;
  const auto& [name, value] = found->second.metrics.front();
  const auto metric = enum_from_name<Metric>(name);
  return !metric || higher_is_better(*metric) ? value : -value;
}

// A run has one name: under a second one it would be missing in the report. A pre-training may be
// shared by models that are fine-tuned in other ways.
void refuse_second_name(const Study& study, const CellResult& known, const CellResult& again) {
  if (known.kind == CellKind::Pretrain && known.model != again.model &&
      study.model(known.model).finetuning != study.model(again.model).finetuning) {
    return;
  }
  require(known.model == again.model, "the models {} and {} are the same; leave one of them out",
          known.model, again.model);
  require(known.model.empty() || known.task == again.task,
          "the tasks {} and {} are the same; leave one of them out", known.task, again.task);
}

// A run that one part chose and another did not would be both.
void refuse_another_choice(const StudyPlan::Group& first, const StudyPlan::Group& second) {
  if (first.first_runs == second.first_runs) return;
  const bool share_one =
      std::any_of(first.first_runs.begin(), first.first_runs.end(),
                  [&](const std::string& id) { return contains(second.first_runs, id); });
  require(!share_one,
          "the parts {} and {} share runs of {} on {}, but have other learning rates; give both "
          "the same",
          first.part, second.part, second.model, second.task);
}

}  // namespace

Task find_study_task(const StudyTask& chosen, const fs::path& synth_tasks) {
  const auto synthetic = synth_name(chosen.task);
  Task task =
      find_task(synthetic ? (synth_tasks / *synthetic / "task.json").string() : chosen.task);
  if (chosen.max_source_tokens > 0) task.max_source_tokens = chosen.max_source_tokens;
  if (chosen.max_target_tokens > 0) task.max_target_tokens = chosen.max_target_tokens;
  return task;
}

StudyPlan::StudyPlan(Study study, const fs::path& data, DataDigests& digests)
    : study_(std::move(study)),
      data_(data.empty() ? fs::path(study_.data) : data),
      digests_(digests) {
  const std::vector<std::string> synthetic = synth_task_names(study_.synth);
  for (const auto& [name, task] : study_.tasks) {
    require(!synth_name(task.task) || contains(synthetic, task.task),
            "task {}: {} is not among the study's synthetic tasks{}", name, task.task,
            did_you_mean(task.task, synthetic));
  }
  for (size_t i = 0; i < study_.parts.size(); ++i) {
    add_part(study_.parts[i], static_cast<int64_t>(i));
  }
  digests_.save();
}

const Cell* StudyPlan::find(const std::string& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &cells_[found->second];
}

void StudyPlan::add_needs(const Cell& cell, const TakesId& takes,
                          std::set<std::string>& ids) const {
  for (const std::string& need : cell.needs) {
    if (takes(need) && ids.insert(need).second) add_needs(*find(need), takes, ids);
  }
}

void StudyPlan::add_part(const StudyPart& part, int64_t number) {
  part_ = part.name;
  part_number_ = number;
  for (const std::string& model : part.models) {
    for (const Start start : part.starts) {
      if (part.tasks.empty() && start == Start::Pretrained) {  // only curves are wanted
        const Group group{.part = part.name, .model = model, .task = {}, .start = start};
        for (int64_t seed = 1; seed <= part.pretraining_seeds; ++seed) {
          add_pretrain(part, group, seed);
        }
      }
      for (const std::string& task : part.tasks) {
        add_group(
            part,
            {.part = part.name, .model = model, .task = task, .start = start, .seeds = part.seeds});
      }
    }
  }
}

void StudyPlan::add_group(const StudyPart& part, Group group) {
  const std::vector<double> rates = rates_of(study_, part, group);
  require(!rates.empty(), "part {}: no learning_rates for {} on {}", part.name, group.model,
          group.task);
  if (group.start != Start::Scratch) {  // these do not wait for the choice of a learning rate
    for (int64_t seed = 1; seed <= std::min(part.pretraining_seeds, group.seeds); ++seed) {
      add_pretrain(part, group, seed);
    }
  }
  for (const double rate : rates) group.first_runs.push_back(add_finetune(part, group, rate, 1));
  for (const Group& other : groups_) refuse_another_choice(other, group);
  if (rates.size() == 1) add_more_runs(part, group, rates.front());
  groups_.push_back(std::move(group));
}

void StudyPlan::add_more_runs(const StudyPart& part, Group& group, double rate) {
  group.chosen = rate;
  for (int64_t seed = 2; seed <= group.seeds; ++seed) {
    group.more_runs.push_back(add_finetune(part, group, rate, seed));
  }
}

void StudyPlan::choose(const FindResult& find_result) {
  for (Group& group : groups_) {
    if (group.chosen || group.failed) continue;
    std::optional<double> best;
    double rate = 0;
    bool complete = true;
    for (const std::string& id : group.first_runs) {  // in order of the learning rate
      const CellResult* result = find_result(id);
      complete = complete && result != nullptr;
      if (result == nullptr) continue;
      const auto score = validation_score(*result);
      if (!score || std::isnan(*score) || (best && *score <= *best)) continue;
      best = score;
      rate = find(id)->label.learning_rate;
    }
    if (!complete) continue;
    group.failed = !best;
    if (!best) continue;
    const auto part = std::ranges::find(study_.parts, group.part, &StudyPart::name);
    part_ = part->name;
    part_number_ = part - study_.parts.begin();
    add_more_runs(*part, group, rate);
  }
  digests_.save();
}

bool StudyPlan::is_chosen(const Cell& cell) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.chosen && *group.chosen == cell.label.learning_rate &&
           (contains(group.first_runs, cell.id()) || contains(group.more_runs, cell.id()));
  });
}

std::string StudyPlan::add(CellKind kind, Json inputs, Cell cell) {
  const std::string id = cell_id(kind, inputs);
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    Cell& known = cells_[found->second];
    refuse_second_name(study_, known.label, cell.label);
    const auto add_name = [](const std::string& name, std::vector<std::string>& names) {
      if (!contains(names, name)) names.push_back(name);
    };
    add_name(part_, known.label.parts);
    add_name(cell.label.model, known.models);
    return id;
  }
  cell.models = {cell.label.model};
  cell.label.id = id;
  cell.label.kind = kind;
  cell.label.parts = {part_};
  cell.label.inputs = std::move(inputs);
  if (cell.order.empty()) {
    cell.order = {part_number_, static_cast<int64_t>(kind), std::ssize(cells_)};
  }
  by_id_[id] = cells_.size();
  cells_.push_back(std::move(cell));
  return id;
}

std::string StudyPlan::add_synth() {
  return add(CellKind::Synth, study_.synth.json, {.label = {}, .work = SynthWork{study_.synth}});
}

Json StudyPlan::describe_files(const std::vector<std::string>& patterns) {
  Json& files = files_[fmt::format("{}", fmt::join(patterns, "\n"))];
  if (!files.is_null()) return files;
  files = Json::array();
  for (const std::string& pattern : patterns) {
    if (synth_name(pattern)) {
      files.push_back({{"synth", add_synth()}, {"files", pattern}});
      continue;
    }
    for (const std::string& digest : digests_.of_corpus((data_ / pattern).string())) {
      files.push_back(digest);
    }
  }
  return files;
}

std::vector<std::string> StudyPlan::needs_of(const std::vector<std::string>& names) {
  const bool synthetic = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return synth_name(name).has_value();
  });
  return synthetic ? std::vector{add_synth()} : std::vector<std::string>{};
}

std::string StudyPlan::add_tokenizer() {
  const StudyTokenizer& given = study_.tokenizer;
  if (!given.path.empty()) {
    return add(CellKind::Tokenizer, {{"model", digests_.of(tokenizer_file(given.path))}},
               {.label = {}, .work = TokenizerWork{given, {}}});
  }
  const StudyCorpus& corpus = study_.corpora.at(given.corpus);
  Cell cell{.label = {}, .needs = needs_of(corpus.train), .work = TokenizerWork{given, corpus}};
  return add(CellKind::Tokenizer,
             {{"files", describe_files(corpus.train)},
              {"model", name_of(given.trainer.kind)},
              {"pieces", given.trainer.pieces},
              {"lines", given.lines},
              {"seed", given.seed}},
             std::move(cell));
}

std::string StudyPlan::add_corpus_shards(const std::string& name, bool validation) {
  const StudyCorpus& corpus = study_.corpora.at(name);
  const std::vector<std::string>& patterns = validation ? corpus.validation : corpus.train;
  if (patterns.empty()) return "";
  Cell cell{.label = {}, .needs = needs_of(patterns)};
  cell.label.corpus = name;
  cell.needs.push_back(add_tokenizer());
  cell.work =
      ShardsWork{.tokenizer = cell.needs.back(), .patterns = patterns, .task = {}, .split = {}};
  Json inputs = {{"files", describe_files(patterns)}, {"tokenizer", cell.needs.back()}};
  return add(CellKind::Shards, std::move(inputs), std::move(cell));
}

std::string StudyPlan::add_task_shards(const StudyTask& task, const std::string& name,
                                       const std::string& split) {
  Cell cell{.label = {}, .needs = needs_of({task.task})};
  cell.label.task = name;
  cell.needs.push_back(add_tokenizer());
  cell.work =
      ShardsWork{.tokenizer = cell.needs.back(), .patterns = {}, .task = task, .split = split};
  Json inputs = {{"text", describe_task(task, {split})}, {"tokenizer", cell.needs.back()}};
  return add(CellKind::Shards, std::move(inputs), std::move(cell));
}

// The task without its prose, and the contents of its files.
Json StudyPlan::describe_task(const StudyTask& chosen, const std::vector<std::string>& splits) {
  if (synth_name(chosen.task)) {
    return {{"synth", add_synth()},
            {"task", chosen.task},
            {"splits", splits},
            {"max_source_tokens", chosen.max_source_tokens},
            {"max_target_tokens", chosen.max_target_tokens}};
  }
  const Task task = find_study_task(chosen, {});
  Json& json = tasks_[fmt::format("{} {} {} {}", chosen.task, chosen.max_source_tokens,
                                  chosen.max_target_tokens, fmt::join(splits, " "))];
  if (!json.is_null()) return json;
  json = task.to_json();
  json.erase("description");
  for (const std::string& split : splits) {
    const bool usual = split == "train" || split == "validation" || split == "test";
    require(usual || task.has_split(split), "{}: has no split {} to evaluate", task.name, split);
    if (!task.has_split(split)) continue;
    for (const fs::path& file : task.files_of(split)) {
      try {
        json["data"][split].push_back(digests_.of(find_task_file(task, file, data_)));
      } catch (const Error&) {
        json["data"][split].push_back(digests_.note_missing((data_ / file).string()));
      }
    }
  }
  return json;
}

std::string StudyPlan::add_pretrain(const StudyPart& part, const Group& group, int64_t seed) {
  const StudyModel& model = study_.model(group.model);
  PretrainWork work{.settings = PretrainSettings::from_json(
                        {merged({study_.pretraining, model.pretraining, part.pretraining}),
                         "pretraining of " + part.name}),
                    .model = find_model_config(model.preset, model.overrides),
                    .tokenizer = add_tokenizer(),
                    .train = {},
                    .validation = {}};
  work.settings.options.seed = static_cast<uint64_t>(seed);
  const bool self = group.start == Start::Self;
  if (self) {
    const StudyTask& task = study_.task(group.task);
    work.train = add_task_shards(task, group.task, "train");
    if (synth_name(task.task) || find_study_task(task, {}).has_split("validation")) {
      work.validation = add_task_shards(task, group.task, "validation");
    }
  } else {
    work.train = add_corpus_shards(part.corpus, false);
    work.validation = add_corpus_shards(part.corpus, true);
  }
  Cell cell{.label = {}, .needs = {work.tokenizer, work.train}};
  if (!work.validation.empty()) cell.needs.push_back(work.validation);
  cell.label.model = group.model;
  cell.label.start = group.start;
  (self ? cell.label.task : cell.label.corpus) = self ? group.task : part.corpus;
  cell.label.seed = seed;
  Json inputs = {{"model", describe_model(work.model)},
                 {"tokenizer", work.tokenizer},
                 {"train", work.train},
                 {"validation", work.validation},
                 {"settings", work.settings.to_json()},
                 {"seed", seed}};
  cell.work = std::move(work);
  return add(CellKind::Pretrain, std::move(inputs), std::move(cell));
}

std::string StudyPlan::add_finetune(const StudyPart& part, const Group& group, double rate,
                                    int64_t seed) {
  const StudyModel& model = study_.model(group.model);
  const StudyTask& task = study_.task(group.task);
  FinetuneWork work{
      .settings = FinetuneSettings::from_json(
          {merged({study_.finetuning, model.finetuning, task.finetuning, part.finetuning}),
           "finetuning of " + part.name}),
      .model = find_model_config(model.preset, model.overrides),
      .task = task,
      .tokenizer = add_tokenizer(),
      .pretrain = {}};
  work.settings.options.schedule.learning_rate = rate;
  work.settings.options.seed = static_cast<uint64_t>(seed);
  Cell cell{.label = {}, .needs = needs_of({task.task})};
  cell.needs.push_back(work.tokenizer);
  cell.label.model = group.model;
  cell.label.start = group.start;
  cell.label.task = group.task;
  cell.label.learning_rate = rate;
  cell.label.seed = seed;
  if (group.start != Start::Scratch) {
    // Balanced: each pre-training seed is the start of as many fine-tuning seeds.
    cell.label.pretraining_seed = (seed - 1) % part.pretraining_seeds + 1;
    work.pretrain = add_pretrain(part, group, cell.label.pretraining_seed);
    cell.needs.push_back(work.pretrain);
    cell.label.corpus = group.start == Start::Pretrained ? part.corpus : "";
  }
  std::vector<std::string> splits = work.settings.options.evaluate;
  splits.insert(splits.begin(), "train");
  Json inputs = {{"model", describe_model(work.model)},
                 {"tokenizer", work.tokenizer},
                 {"start", work.pretrain.empty() ? "scratch" : work.pretrain},
                 {"task", describe_task(task, splits)},
                 {"settings", work.settings.to_json()},
                 {"seed", seed}};
  cell.work = std::move(work);
  // Groups in the order of the file; a group's chosen runs before those of the next group.
  const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& each) {
    return each.part == group.part && each.model == group.model && each.task == group.task &&
           each.start == group.start;
  });
  cell.order = {part_number_, static_cast<int64_t>(CellKind::Finetune), known - groups_.begin(),
                seed, std::ssize(cells_)};
  return add(CellKind::Finetune, std::move(inputs), std::move(cell));
}

}  // namespace convseq
