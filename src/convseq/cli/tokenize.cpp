#include <fmt/format.h>

#include "convseq/base/counted.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/log.h"
#include "convseq/base/machine.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/data/corpus/shard/tokenize_job.h"
#include "convseq/data/task/row_totals.h"

namespace convseq::cli {
namespace {

struct TokenizeFlags {
  TokenizeOptions job{.threads = hardware_threads(), .stop = interrupted};
  std::string tokenizer;
  bool json = false;
};

void tokenize(const TokenizeFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.tokenizer);
  end_on_signals();
  if (!flags.job.progress) log::set_level(log::Level::Warning);
  const ShardManifest done = tokenize_corpus(tokenizer, flags.job);
  const RowTotals rows{.rows = done.documents(), .skipped = done.bad_lines};
  if (flags.json) {
    const Json report = {{"out", flags.job.out.string()}, {"complete", done.complete},
                         {"shards", done.shards.size()},  {"documents", done.documents()},
                         {"tokens", done.tokens()},       {"bad_lines", done.bad_lines},
                         {"rows", rows.to_json()}};
    fmt::print("{}\n", report.dump());
  } else {
    fmt::print("{}: {}, {}, {}\n", flags.job.out.string(),
               counted(std::ssize(done.shards), "shard"), counted(done.documents(), "document"),
               counted(done.tokens(), "token"));
    if (const std::string said = rows.describe(); !said.empty()) fmt::print("  {}\n", said);
  }
  if (done.complete) return;
  const bool piped = flags.job.corpus == "-";
  throw Stopped(flags.job.out.string() + (piped
                                              ? ": stopped; remove it and pipe the text in again"
                                              : ": stopped; run the same command again to resume"));
}

}  // namespace

void add_tokenize(CLI::App& program) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command = program.add_subcommand(
      "tokenize", "Tokenize a corpus into shards; resumes an interrupted run");
  command->add_option("CORPUS,--corpus", flags->job.corpus, kCorpusHelp)->required();
  command->add_option("OUT,--out", flags->job.out, "Output folder for the shards")->required();
  command
      ->add_option("--tokenizer", flags->tokenizer,
                   "Tokenizer: a spiece.model file or the folder that holds it")
      ->required();
  add_count(*command, "--threads", flags->job.threads,
            "Number of threads (the shards do not depend on it)", {.max = kMostThreads});
  add_count(*command, "--shard-tokens", flags->job.shard_tokens, "Approximate tokens per shard",
            {.max = int64_t{1} << 40});
  command->add_option("--field", flags->job.field, "JSON field that holds the text")
      ->capture_default_str();
  add_enum(*command, "--on-bad-line", flags->job.on_bad_line, "What to do with an invalid line");
  command->add_flag("!--quiet", flags->job.progress, "Hide progress and info messages");
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer(
      "Example:\n  convseq tokenize 'c4/en/*.json.gz' shards/c4 --tokenizer models/tokenizer");
  command->callback([flags] { tokenize(*flags); });
}

}  // namespace convseq::cli
