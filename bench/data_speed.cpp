// From token shards, and from raw text, to ready batches. Times are CPU seconds of the whole
// process, all its threads together: what one core would need, whatever else the machine is doing.
#include <sentencepiece_processor.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <limits>

#include "convseq/base/log.h"
#include "convseq/bench/benchmark_report.h"
#include "convseq/data/corpus/corpus_stream.h"
#include "convseq/data/corpus/shard/tokenize_job.h"
#include "convseq/data/objective/span_corruption.h"

namespace convseq::bench {
namespace {

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const std::function<void()>& work) {
  const double start = cpu_seconds();
  work();
  return cpu_seconds() - start;
}

void gunzip(const std::string& file) {
  std::vector<char> buffer(256 << 10);
  gzFile in = ::gzopen(file.c_str(), "rb");
  ::gzbuffer(in, 256 << 10);
  while (::gzread(in, buffer.data(), static_cast<unsigned>(buffer.size())) > 0) {
  }
  ::gzclose(in);
}

std::vector<std::string> documents_of(const std::string& file) {
  std::vector<std::string> documents;
  DocumentReader reader({file});
  for (std::string text; reader.next(text);) documents.push_back(text);
  return documents;
}

struct Inputs {
  std::string file;    // in the format of C4, gzip
  std::string shards;  // folder
  std::string tokenizer;
  int rounds = 5;
};

CorpusStream open_stream(const Tokenizer& tokenizer, const std::string& corpus, int64_t rows) {
  return {tokenizer, std::make_shared<SpanCorruption>(tokenizer.vocabulary()),
          CorpusStreamOptions{.corpora = {{corpus}}, .batch_rows = rows, .batches_ahead = 1}};
}

Row from_shards(const Tokenizer& tokenizer, const Inputs& inputs) {
  constexpr int kBatches = 400, kRows = 128;
  double best = 0;
  for (int round = 0; round < inputs.rounds; ++round) {
    CorpusStream stream = open_stream(tokenizer, inputs.shards, kRows);
    int64_t tokens = 0;
    const double seconds = seconds_of([&] {
      for (int i = 0; i < kBatches; ++i) {
        for (const int64_t length : stream.next().batch.source_lengths) tokens += length;
      }
    });
    best = std::max(best, static_cast<double>(tokens) / seconds);
  }
  return {.name = "token shards to batches",
          .value = best,
          .unit = "source tokens/s",
          .floor = 20e6,
          .ratio = best / 20e6};
}

Row from_raw_text(const Tokenizer& tokenizer, const Inputs& inputs) {
  constexpr int64_t kRows = 16;
  const std::vector<std::string> documents = documents_of(inputs.file);
  sentencepiece::SentencePieceProcessor bare;
  const std::string model = read_text_file(inputs.tokenizer + "/spiece.model");
  require(bare.LoadFromSerializedProto(model).ok(), "{}: no tokenizer", inputs.tokenizer);

  double best_bare = std::numeric_limits<double>::max(), best = best_bare;
  for (int round = 0; round < inputs.rounds; ++round) {
    size_t tokens = documents.size();  // an EOS each
    best_bare = std::min(best_bare, seconds_of([&] {
                           gunzip(inputs.file);
                           std::vector<int> ids;
                           for (const std::string& document : documents) {
                             if (bare.Encode(document, &ids).ok()) tokens += ids.size();
                           }
                         }));
    best = std::min(best, seconds_of([&] {
                      CorpusStream stream = open_stream(tokenizer, inputs.file, kRows);
                      // All whole batches of one epoch: the whole file is read and tokenized.
                      const int64_t segments =
                          static_cast<int64_t>(tokens) / stream.segment_length();
                      for (int64_t i = 0; i < segments / kRows; ++i) stream.next();
                    }));
  }
  return {.name = "json.gz to batches",
          .value = best,
          .unit = "CPU s",
          .floor = 1.25 * best_bare,
          .peer = "gunzip + SentencePiece alone",
          .peer_value = best_bare,
          .ratio = best / best_bare};
}

int run(int argc, char** argv) {
  Inputs inputs;
  CLI::App program("Speed of the data pipeline, against its floor and against its bare parts.");
  program.add_option("FILE", inputs.file, "Raw text, .json.gz")->required();
  program.add_option("SHARDS", inputs.shards, "A folder of token shards")->required();
  program.add_option("--tokenizer", inputs.tokenizer, "A folder with spiece.model")->required();
  program.add_option("--rounds", inputs.rounds, "Number of timings; the best is reported")
      ->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  log::set_level(log::Level::Warning);
  const Tokenizer tokenizer = Tokenizer::load(inputs.tokenizer);
  report("data",
         fmt::format("data_speed FILE.json.gz SHARDS --tokenizer TOKENIZER --rounds {}",
                     inputs.rounds),
         {from_shards(tokenizer, inputs), from_raw_text(tokenizer, inputs)});
  return 0;
}

}  // namespace
}  // namespace convseq::bench

int main(int argc, char** argv) { return convseq::bench::run(argc, argv); }
