#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/synth/corpus.h"
#include "convseq/data/synth/suite.h"
#include "convseq/study/result.h"
#include "convseq/text/tokenizer_trainer.h"

namespace convseq {

// The study file names what is synthetic "synth/corpus/…" and "synth/TASK".
inline constexpr std::string_view kSynthPrefix = "synth/";
std::optional<std::string> synth_name(std::string_view name);  // without the prefix; none: another

// A synthetic corpus and tasks, which the study writes itself.
struct StudySynth {
  std::optional<synth::CorpusOptions> corpus = {};
  std::optional<synth::SuiteOptions> tasks = {};
  Json json = nullptr;  // as given
};

struct StudyTokenizer {
  std::string path = {};    // of a trained one; or else:
  std::string corpus = {};  // name of the corpus it is trained on
  TokenizerTrainerOptions trainer = {};
  int64_t lines = 1'000'000;
  uint64_t seed = 1;
};

// Files or patterns in the data folder.
struct StudyCorpus {
  std::vector<std::string> train = {};
  std::vector<std::string> validation = {};
};

struct StudyModel {
  std::string preset = {};
  std::vector<std::string> overrides = {};  // "kernel_sizes=15"
  Json pretraining = Json::object();        // overrides of the study's settings
  Json finetuning = Json::object();
  std::vector<double> learning_rates = {};  // none: the study's
};

struct StudyTask {
  std::string task = {};          // name, file, or "synth/NAME"
  int64_t max_source_tokens = 0;  // 0: the task's
  int64_t max_target_tokens = 0;
  Json finetuning = Json::object();
  std::vector<double> learning_rates = {};
};

// A matrix of models, starts, tasks and seeds.
struct StudyPart {
  std::string name = {};
  std::string question = {};  // "RQ1": where the report shows it
  std::vector<std::string> models = {};
  std::vector<Start> starts = {Start::Scratch, Start::Pretrained};
  std::vector<std::string> tasks = {};
  std::vector<double> learning_rates = {};
  int64_t seeds = 1;
  int64_t pretraining_seeds = 1;
  std::string corpus = "main";
  Json pretraining = Json::object();
  Json finetuning = Json::object();
};

// Measured speeds, from which `plan` estimates the time before there are results.
struct StudySpeed {
  double pretrain_tokens_per_second = 0;
  double finetune_steps_per_second = 0;
  double finetune_overhead_seconds = 0;  // per run: reading data, validation, test
};

// A study file: STUDY.json.
struct Study {
  std::string name;
  std::string description;
  std::string data = "data";
  StudySynth synth = {};
  StudyTokenizer tokenizer = {};
  std::map<std::string, StudyCorpus> corpora = {};
  std::vector<std::pair<std::string, StudyModel>> models = {};  // in the order of the file
  std::vector<std::pair<std::string, StudyTask>> tasks = {};
  Json pretraining = Json::object();
  Json finetuning = Json::object();
  std::vector<double> learning_rates = {5e-3};
  std::vector<StudyPart> parts = {};
  int64_t pretraining_jobs = 1;  // pre-trainings side by side
  double tolerance = 0.02;       // of a score, when a stored cell is run again
  bool count_collapsed = false;  // collapsed runs enter the means of the report
  StudySpeed speed = {};

  const StudyModel& model(const std::string& name) const;
  const StudyTask& task(const std::string& name) const;

  // A study file, or the name of one of configs/studies. Refuses unknown keys and names.
  static Study load(const std::string& name_or_path);
  static Study from_json(const JsonObject& json);
};

std::vector<std::string> study_names();  // of configs/studies

}  // namespace convseq
