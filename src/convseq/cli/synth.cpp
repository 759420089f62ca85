#include <fmt/format.h>

#include "convseq/base/file/json_file.h"
#include "convseq/base/memory.h"
#include "convseq/base/progress.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/data/synth/corpus.h"
#include "convseq/data/synth/suite.h"

namespace convseq::cli {
namespace {

struct CorpusFlags {
  std::string out;
  synth::CorpusOptions corpus;
  bool json = false;
};

struct SynthTaskFlags {
  std::string out;
  synth::SuiteOptions suite;
  double max_memory = 0;  // bytes; 0: the free memory
  bool json = false;
};

constexpr const char* kNothingWritten = "{}: stopped; nothing was written";

void write_corpus(CorpusFlags flags) {
  synth::CorpusReport report;
  end_on_signals();
  {
    const int64_t total = flags.corpus.documents + flags.corpus.validation_documents;
    Progress progress({.label = "synth corpus", .total = total, .unit = "docs", .first = 0});
    flags.corpus.on_progress = [&](int64_t written) {
      throw_if_interrupted(kNothingWritten, flags.out);
      progress.update(written);
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

void write_tasks(SynthTaskFlags flags) {
  end_on_signals();
  require_memory(synth::suite_memory(flags.suite), "synth tasks", flags.max_memory);
  flags.suite.poll = [&] { throw_if_interrupted(kNothingWritten, flags.out); };
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
  CLI::App* command =
      synth.add_subcommand("corpus", "Write a pre-training corpus in the format of C4");
  command->add_option("OUT,--out", flags->out, "Output folder, new or empty")->required();
  const auto count = [&](const char* name, int64_t& value, const char* help, int64_t most) {
    add_count(*command, name, value, help, {.max = most});
  };
  count("--documents", flags->corpus.documents,
        "Number of training documents, about 175 words each", kMostRows);
  count("--validation-documents", flags->corpus.validation_documents,
        "Number of validation documents", kMostRows);
  count("--shards", flags->corpus.shards, "Number of training files", 100'000);
  add_seed(*command, flags->corpus.seed, "Random seed of the documents");
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer("Example:\n  convseq synth corpus data/corpus --documents 20000 --seed 1");
  command->callback([flags] { write_corpus(*flags); });
}

void add_family_flags(CLI::App& command, synth::SuiteOptions& suite) {
  const CountRange length{.max = kLongest}, from_zero{.min = 0, .max = kLongest};
  add_real(command, "--shown-words", suite.shown_share,
           "lexical, scope: fraction of the kind and rude words that training shows",
           {.max = 1, .above_min = true});
  add_count(command, "--sentences", suite.sentences,
            "lexical, scope, span: number of neutral sentences", from_zero);
  add_counts(command, "--windows", suite.windows,
             "scope: words between a negation and what it negates", from_zero);
  add_counts(command, "--distances", suite.distances,
             "long_range: words between the two judgements", length);
  add_count(command, "--cue-words", suite.cue_words, "long_range: judging words per polarity",
            length);
  add_count(command, "--depth", suite.depth,
            "compositional: maximum depth of nested clauses in training", {.min = 0, .max = 1000});
  add_count(command, "--places", suite.places,
            "compositional: maximum places per noun phrase in training", {.min = 0, .max = 1000});
  add_counts(command, "--comparisons", suite.comparisons, "pair: facts per premise", length);
  add_counts(command, "--facts", suite.facts, "span: facts per context", length);
}

void add_tasks(CLI::App& synth) {
  auto flags = std::make_shared<SynthTaskFlags>();
  synth::SuiteOptions& suite = flags->suite;
  CLI::App* command = synth.add_subcommand(
      "tasks", "Write labelled tasks in the language of the corpus, with baseline scores");
  command->add_option("OUT,--out", flags->out, "Output folder, new or empty")->required();
  add_seed(*command, suite.seed, "Random seed of the examples and of the hidden words");
  add_enums(*command, "--family", suite.families, "Task families");
  add_count(*command, "--train", suite.sizes.train, "Training examples per task",
            {.max = kMostRows});
  add_count(*command, "--validation", suite.sizes.validation, "Validation examples per task",
            {.max = kMostRows});
  add_count(*command, "--test", suite.sizes.test, "Test examples per task, also for generalisation",
            {.max = kMostRows});
  add_family_flags(*command, suite);
  add_max_memory(*command, flags->max_memory);
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer(
      "Example:\n  convseq synth tasks data/tasks --family pair,long_range --comparisons 1,2,4 "
      "--distances 16,64,256");
  command->callback([flags] { write_tasks(*flags); });
}

}  // namespace

void add_synth(CLI::App& program) {
  CLI::App* synth =
      program.add_subcommand("synth", "Write a synthetic corpus, or tasks in the same language");
  synth->require_subcommand(1);
  synth->footer("Example:\n  convseq synth corpus data/corpus --documents 20000");
  add_corpus(*synth);
  add_tasks(*synth);
}

}  // namespace convseq::cli
