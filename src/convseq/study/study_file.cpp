#include "convseq/study/study_file.h"

#include <algorithm>
#include <set>

#include "convseq/base/contains.h"
#include "convseq/base/nearest_name.h"
#include "convseq/data/objective/make_objective.h"
#include "convseq/study/embedded_studies.h"
#include "convseq/study/settings.h"

namespace convseq {
namespace {

std::vector<double> rates_from(const JsonObject& json) {
  auto rates = json.get_or<std::vector<double>>("learning_rates", {});
  for (const double rate : rates) {
    if (!(rate > 0)) json.refuse("learning_rates", "holds {}; allowed: above 0", rate);
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

synth::CorpusOptions synth_corpus_from(const JsonObject& json) {
  json.allow_only({"documents", "validation_documents", "seed"});
  synth::CorpusOptions options;
  options.documents = json.get_or("documents", options.documents);
  options.validation_documents = json.get_or("validation_documents", options.validation_documents);
  options.seed = json.get_or("seed", options.seed);
  return options;
}

synth::SuiteOptions synth_tasks_from(const JsonObject& json) {
  json.allow_only({"families", "seed", "train", "validation", "test", "shown_words", "sentences",
                   "windows", "distances", "cue_words", "depth", "places", "comparisons", "facts"});
  synth::SuiteOptions options;
  options.families = json.get_or("families", options.families);
  options.seed = json.get_or("seed", options.seed);
  options.sizes.train = json.get_or("train", options.sizes.train);
  options.sizes.validation = json.get_or("validation", options.sizes.validation);
  options.sizes.test = json.get_or("test", options.sizes.test);
  options.shown_share = json.get_or("shown_words", options.shown_share);
  options.sentences = json.get_or("sentences", options.sentences);
  options.windows = json.get_or("windows", options.windows);
  options.distances = json.get_or("distances", options.distances);
  options.cue_words = json.get_or("cue_words", options.cue_words);
  options.depth = json.get_or("depth", options.depth);
  options.places = json.get_or("places", options.places);
  options.comparisons = json.get_or("comparisons", options.comparisons);
  options.facts = json.get_or("facts", options.facts);
  return options;
}

StudySynth synth_from(const JsonObject& json) {
  json.allow_only({"corpus", "tasks"});
  StudySynth found{.json = json.json()};
  if (json.has("corpus")) found.corpus = synth_corpus_from(json.inner("corpus"));
  if (json.has("tasks")) found.tasks = synth_tasks_from(json.inner("tasks"));
  return found;
}

StudyTokenizer tokenizer_from(const JsonObject& study) {
  if (study.json().at("tokenizer").is_string()) {
    return {.path = study.get<std::string>("tokenizer")};
  }
  const JsonObject json = study.inner("tokenizer");
  json.allow_only({"corpus", "pieces", "model", "lines", "seed"});
  StudyTokenizer found{.corpus = json.get_or<std::string>("corpus", "main")};
  found.trainer.pieces = json.get<int32_t>("pieces");
  found.trainer.kind = json.get_or("model", found.trainer.kind);
  found.lines = json.get_or("lines", found.lines);
  found.seed = json.get_or("seed", found.seed);
  return found;
}

StudyCorpus corpus_from(const JsonObject& json) {
  json.allow_only({"train", "validation"});
  return {.train = json.get<std::vector<std::string>>("train"),
          .validation = json.get_or<std::vector<std::string>>("validation", {})};
}

StudyModel model_from(const JsonObject& json) {
  json.allow_only({"model", "set", "pretraining", "finetuning", "learning_rates"});
  StudyModel found{.preset = json.get<std::string>("model")};
  const JsonObject overrides = json.inner("set");
  for (const auto& [key, value] : overrides.json().items()) {
    found.overrides.push_back(key + "=" + value.dump());
  }
  found.pretraining = json.inner("pretraining").json();
  found.finetuning = json.inner("finetuning").json();
  found.learning_rates = rates_from(json);
  return found;
}

StudyTask task_from(const JsonObject& json, const std::string& name) {
  json.allow_only(
      {"task", "max_source_tokens", "max_target_tokens", "finetuning", "learning_rates"});
  return {.task = json.get_or("task", name),
          .max_source_tokens = json.get_or<int64_t>("max_source_tokens", 0),
          .max_target_tokens = json.get_or<int64_t>("max_target_tokens", 0),
          .finetuning = json.inner("finetuning").json(),
          .learning_rates = rates_from(json)};
}

StudyPart part_from(const JsonObject& json) {
  json.allow_only({"name", "question", "models", "starts", "tasks", "learning_rates", "seeds",
                   "pretraining_seeds", "corpus", "pretraining", "finetuning"});
  StudyPart part{.name = json.get<std::string>("name"),
                 .question = json.get_or<std::string>("question", "")};
  part.models = json.get<std::vector<std::string>>("models");
  part.starts = json.get_or("starts", part.starts);
  part.tasks = json.get_or<std::vector<std::string>>("tasks", {});
  part.learning_rates = rates_from(json);
  part.seeds = json.get_or("seeds", part.seeds);
  part.pretraining_seeds = json.get_or("pretraining_seeds", part.pretraining_seeds);
  part.corpus = json.get_or("corpus", part.corpus);
  part.pretraining = json.inner("pretraining").json();
  part.finetuning = json.inner("finetuning").json();
  if (part.seeds < 1) json.refuse("seeds", "is {}; allowed: 1 or more", part.seeds);
  if (part.pretraining_seeds < 1) {
    json.refuse("pretraining_seeds", "is {}; allowed: 1 or more", part.pretraining_seeds);
  }
  return part;
}

template <class Named>
std::vector<std::string> names_in(const Named& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.first);
  return names;
}

template <class Named>
const auto& find_in(const Named& entries, const std::string& name, const char* what) {
  for (const auto& entry : entries) {
    if (entry.first == name) return entry.second;
  }
  fail("{} is no {} of the study{}", name, what, did_you_mean(name, names_in(entries)));
}

void check_names(const Study& study, const std::string& origin) {
  try {
    std::set<std::string> parts;
    for (const StudyPart& part : study.parts) {
      require(parts.insert(part.name).second, "two parts are named {}", part.name);
      for (const std::string& model : part.models) study.model(model);
      for (const std::string& task : part.tasks) study.task(task);
      const bool pretrains = contains(part.starts, Start::Pretrained);
      if (pretrains) find_in(study.corpora, part.corpus, "corpus");
    }
    if (study.tokenizer.path.empty()) {
      find_in(study.corpora, study.tokenizer.corpus, "corpus");
    }
  } catch (const Error& error) {
    throw error.at(origin);
  }
}

}  // namespace

std::optional<std::string> synth_name(std::string_view name) {
  if (!name.starts_with(kSynthPrefix)) return std::nullopt;
  return std::string(name.substr(kSynthPrefix.size()));
}

const StudyModel& Study::model(const std::string& wanted) const {
  return find_in(models, wanted, "model");
}

const StudyTask& Study::task(const std::string& wanted) const {
  return find_in(tasks, wanted, "task");
}

Study Study::from_json(const JsonObject& json) {
  json.allow_only({"name", "description", "data", "synth", "tokenizer", "corpora", "models",
                   "pretraining", "finetuning", "learning_rates", "tasks", "parts",
                   "pretraining_jobs", "tolerance", "count_collapsed", "speed"});
  Study study{.name = json.get<std::string>("name"),
              .description = json.get_or<std::string>("description", "")};
  study.data = json.get_or("data", study.data);
  if (json.has("synth")) study.synth = synth_from(json.inner("synth"));
  if (!json.has("tokenizer")) json.refuse("tokenizer", "is missing");
  study.tokenizer = tokenizer_from(json);
  const JsonObject corpora = json.inner("corpora");
  for (const std::string& name : corpora.keys()) {
    study.corpora[name] = corpus_from(corpora.inner(name));
  }
  const JsonObject models = json.inner("models");
  for (const std::string& name : models.keys()) {
    study.models.emplace_back(name, model_from(models.inner(name)));
  }
  const JsonObject tasks = json.inner("tasks");
  for (const std::string& name : tasks.keys()) {
    study.tasks.emplace_back(name, task_from(tasks.inner(name), name));
  }
  study.pretraining = json.inner("pretraining").json();
  study.finetuning = json.inner("finetuning").json();
  if (json.has("learning_rates")) study.learning_rates = rates_from(json);
  if (!json.has("parts") || !json.json().at("parts").is_array()) {
    json.refuse("parts", "is missing or no list");
  }
  for (const Json& part : json.json().at("parts")) {
    study.parts.push_back(
        part_from({part, fmt::format("{}: part {}", json.origin(), study.parts.size() + 1)}));
  }
  study.pretraining_jobs = json.get_or("pretraining_jobs", study.pretraining_jobs);
  if (study.pretraining_jobs < 1) {
    json.refuse("pretraining_jobs", "is {}; allowed: 1 and more", study.pretraining_jobs);
  }
  study.tolerance = json.get_or("tolerance", study.tolerance);
  study.count_collapsed = json.get_or("count_collapsed", study.count_collapsed);
  if (json.has("speed")) {
    const JsonObject speed = json.inner("speed");
    speed.allow_only(
        {"pretrain_tokens_per_second", "finetune_steps_per_second", "finetune_overhead_seconds"});
    study.speed = {.pretrain_tokens_per_second = speed.get_or("pretrain_tokens_per_second", 0.0),
                   .finetune_steps_per_second = speed.get_or("finetune_steps_per_second", 0.0),
                   .finetune_overhead_seconds = speed.get_or("finetune_overhead_seconds", 0.0)};
  }
  check_names(study, json.origin());
  return study;
}

std::vector<std::string> study_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : kEmbeddedStudies) names.emplace_back(name);
  return names;
}

Study Study::load(const std::string& name_or_path) {
  for (const auto& [name, text] : kEmbeddedStudies) {
    if (name == name_or_path) return from_json({parse_json(text, name_or_path), name_or_path});
  }
  require(std::filesystem::exists(name_or_path), "{}: no such study or file; the studies: {}{}",
          name_or_path, fmt::format("{}", fmt::join(study_names(), ", ")),
          did_you_mean(name_or_path, study_names()));
  return from_json(JsonObject::from_file(name_or_path));
}

}  // namespace convseq
