// Peak memory of tokenizing a corpus, of batches from its shards and of batches from its raw text,
// for a small corpus and a large one: it should not grow. Each is measured in a process of its own.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "convseq/base/log.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/data/corpus/corpus_stream.h"
#include "convseq/data/corpus/shard/tokenize_job.h"
#include "convseq/data/objective/span_corruption.h"

namespace convseq::bench {
namespace {

using Job = std::function<void(const std::string& corpus)>;

double peak_megabytes(const Job& job, const std::string& corpus) {
  const pid_t child = ::fork();
  if (child == 0) {
    job(corpus);
    ::_exit(0);
  }
  rusage usage{};
  int status = 0;
  ::wait4(child, &status, 0, &usage);
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the measured process failed");
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void read_an_epoch(const std::string& corpus, const std::string& tokenizer_folder) {
  const Tokenizer tokenizer = Tokenizer::load(tokenizer_folder);
  CorpusStream stream(tokenizer, std::make_shared<SpanCorruption>(tokenizer.vocabulary()),
                      {.corpora = {{corpus}}});
  while (stream.next().after.corpora[0].group.epoch == 0) {
  }
}

int run(int argc, char** argv) {
  std::string small, large, tokenizer, folder;
  CLI::App program("Peak memory of the data pipeline for a small and a large corpus.");
  program.add_option("SMALL", small, "A corpus of about 10 MB")->required();
  program.add_option("LARGE", large, "A corpus of about 1 GB")->required();
  program.add_option("--tokenizer", tokenizer, "A folder with spiece.model")->required();
  program.add_option("--scratch", folder, "For the token shards")->required();
  CLI11_PARSE(program, argc, argv);
  log::set_level(log::Level::Warning);

  const auto shards = [&](const std::string& corpus) {
    return folder + (corpus == small ? "/small" : "/large");
  };
  const std::pair<std::string, Job> jobs[] = {
      {"tokenize",
       [&](const std::string& corpus) {
         tokenize_corpus(Tokenizer::load(tokenizer),
                         {.corpus = corpus, .out = shards(corpus), .threads = 2});
       }},
      {"token shards to batches",
       [&](const std::string& corpus) { read_an_epoch(shards(corpus), tokenizer); }},
      {"raw text to batches", [&](const std::string& corpus) { read_an_epoch(corpus, tokenizer); }},
  };
  std::vector<Row> rows;
  for (const auto& [name, job] : jobs) {
    const double of_small = peak_megabytes(job, small);
    const double of_large = peak_megabytes(job, large);
    rows.push_back({.name = "peak memory, " + name,
                    .value = of_large,
                    .unit = "MiB at 1 GB",
                    .floor = {},
                    .peer = "at 10 MB",
                    .peer_value = of_small,
                    .ratio = of_large / of_small});
  }
  report("data_memory", "data_memory SMALL LARGE --tokenizer TOKENIZER --scratch FOLDER", rows);
  return 0;
}

}  // namespace
}  // namespace convseq::bench

int main(int argc, char** argv) { return convseq::bench::run(argc, argv); }
