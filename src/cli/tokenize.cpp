#include <fmt/format.h>

#include <csignal>
#include <thread>

#include "base/json_file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "data/tokenize_job.h"

namespace convseq::cli {
namespace {

struct Flags {
  TokenizeOptions job{.threads = std::max(1u, std::thread::hardware_concurrency()),
                      .stop = [] { return interrupted != 0; }};
  std::string tokenizer;
  bool json = false;

  static inline volatile std::sig_atomic_t interrupted = 0;
};

void tokenize(const Flags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.tokenizer);
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) { Flags::interrupted = 1; });
  const ShardManifest done = tokenize_corpus(tokenizer, flags.job);
  if (flags.json) {
    const Json report = {{"out", flags.job.out.string()}, {"complete", done.complete},
                         {"shards", done.shards.size()},  {"documents", done.documents()},
                         {"tokens", done.tokens()},       {"bad_lines", done.bad_lines}};
    fmt::print("{}\n", report.dump());
  } else {
    fmt::print("{}: {} shards, {} documents, {} tokens\n", flags.job.out.string(),
               done.shards.size(), done.documents(), done.tokens());
  }
  require(done.complete, "{}: stopped; the same command goes on from here", flags.job.out.string());
}

}  // namespace

void add_tokenize(CLI::App& program) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = program.add_subcommand(
      "tokenize", "Turn a corpus into token shards; goes on where it was stopped");
  command
      ->add_option("CORPUS", flags->job.corpus,
                   "A file, folder or pattern: .json or .jsonl (a text field a line), .txt (a "
                   "document a line), also with .gz or .zst; - reads standard input")
      ->required();
  command->add_option("OUT", flags->job.out, "The folder to fill")->required();
  command->add_option("--tokenizer", flags->tokenizer, "spiece.model, or a folder that holds it")
      ->required();
  command->add_option("--threads", flags->job.threads, "The shards do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--shard-tokens", flags->job.shard_tokens, "Tokens in a shard, about")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--field", flags->job.field, "The text field of a JSON line")
      ->capture_default_str();
  add_enum(*command, "--on-bad-line", flags->job.on_bad_line,
           "What to do with a line it cannot read");
  command->add_flag("!--quiet", flags->job.progress, "No progress on standard error");
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer(
      "Example:\n  convseq tokenize 'c4/en/*.json.gz' shards/c4 --tokenizer models/tokenizer");
  command->callback([flags] { tokenize(*flags); });
}

}  // namespace convseq::cli
