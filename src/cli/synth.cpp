#include <fmt/format.h>

#include "base/json_file.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "data/synth/corpus.h"
#include "data/synth/suite.h"

namespace convseq::cli {
namespace {

struct CorpusFlags {
  std::string out;
  synth::CorpusOptions corpus;
  bool json = false;
};

struct TaskFlags {
  std::string out;
  synth::SuiteOptions suite;
  bool json = false;
};

void write_corpus(CorpusFlags flags) {
  synth::CorpusReport report;
  {
    std::optional<Progress> progress;  // drawn once there is something to show
    flags.corpus.on_progress = [&](int64_t written) {
      const int64_t total = flags.corpus.documents + flags.corpus.validation_documents;
      if (!progress) progress.emplace(ProgressOptions{"synth corpus", total, "docs"});
      progress->update(written);
    };
    report = synth::write_corpus(flags.out, flags.corpus);
  }
  if (flags.json) {
    const Json json = {{"out", flags.out},
                       {"documents", report.documents},
                       {"bytes", report.bytes},
                       {"shards", flags.corpus.shards},
                       {"seed", flags.corpus.seed}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}: {} documents, {:.1f} MB of text\n", flags.out, report.documents,
               static_cast<double>(report.bytes) / 1e6);
  }
}

void write_tasks(const TaskFlags& flags) {
  const auto baselines = synth::write_suite(flags.out, flags.suite);
  if (!flags.json) {
    fmt::print("{}", synth::table_of(baselines));
    return;
  }
  Json json = Json::array();
  for (const synth::Baseline& row : baselines) json.push_back(row.to_json());
  fmt::print("{}\n", json.dump());
}

void add_corpus(CLI::App& synth) {
  auto flags = std::make_shared<CorpusFlags>();
  CLI::App* command = synth.add_subcommand(
      "corpus", "Write a pre-training corpus in C4's form: .json.gz, a text field a line");
  command->add_option("OUT", flags->out, "The folder to write, new or empty")->required();
  const auto option = [&](const char* name, auto& value, const char* description) {
    command->add_option(name, value, description)->capture_default_str();
  };
  option("--documents", flags->corpus.documents, "Documents to train on, about 145 words each");
  option("--validation-documents", flags->corpus.validation_documents,
         "Documents of the validation shard");
  option("--shards", flags->corpus.shards, "Files to spread the training documents over");
  option("--seed", flags->corpus.seed, "Another seed, other documents of the same language");
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer("Example:\n  convseq synth corpus data/corpus --documents 20000 --seed 1");
  command->callback([flags] { write_corpus(*flags); });
}

void add_tasks(CLI::App& synth) {
  auto flags = std::make_shared<TaskFlags>();
  synth::SuiteOptions& suite = flags->suite;
  CLI::App* command = synth.add_subcommand(
      "tasks", "Write labelled tasks in the language of the corpus, and how far simple rules get");
  command->add_option("OUT", flags->out, "The folder to write, new or empty")->required();
  const auto option = [&](const char* name, auto& value, const char* description) {
    return command->add_option(name, value, description)->capture_default_str();
  };
  option("--seed", suite.seed, "Of the examples, and of the words that training does not show");
  add_enums(*command, "--family", suite.families, "Only these families, separated by commas");
  option("--train", suite.sizes.train, "Training examples a task");
  option("--validation", suite.sizes.validation, "Validation examples a task");
  option("--test", suite.sizes.test, "Test examples a task, and of generalisation");
  option("--shown-words", suite.shown_share,
         "lexical, scope: share of the kind and rude words that training shows");
  option("--sentences", suite.sentences, "lexical, scope, span: plain sentences around");
  option("--windows", suite.windows, "scope: words between a negation and what it negates")
      ->delimiter(',');
  option("--distances", suite.distances, "long_range: words between the two that decide")
      ->delimiter(',');
  option("--cue-words", suite.cue_words, "long_range: words of each polarity that may decide");
  option("--depth", suite.depth, "compositional: most clauses within one another in training");
  option("--places", suite.places, "compositional: most places in one noun phrase in training");
  option("--comparisons", suite.comparisons, "pair: facts to compare at once")->delimiter(',');
  option("--facts", suite.facts, "span: facts in a context, one of them asked for")->delimiter(',');
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer(
      "Example:\n  convseq synth tasks data/tasks --family pair,long_range --comparisons 1,2,4 "
      "--distances 16,64,256");
  command->callback([flags] { write_tasks(*flags); });
}

}  // namespace

void add_synth(CLI::App& program) {
  CLI::App* synth = program.add_subcommand(
      "synth", "Write data of our own, from a grammar and a seed: a corpus, and tasks on it");
  synth->require_subcommand(1);
  add_corpus(*synth);
  add_tasks(*synth);
}

}  // namespace convseq::cli
