#include "convseq/text/tokenizer.h"

#include <fmt/ranges.h>

#include <charconv>
#include <chrono>

#include "convseq/base/counted.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/output_folder.h"
#include "convseq/base/log.h"
#include "convseq/base/memory.h"
#include "convseq/base/progress.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/data/corpus/document_reader.h"
#include "convseq/data/task/row_totals.h"
#include "convseq/text/sentence_sample.h"
#include "convseq/text/tokenizer_trainer.h"

namespace convseq::cli {
namespace {

struct TrainFlags {
  std::vector<std::string> corpora;
  std::string out;
  TokenizerTrainerOptions trainer;
  size_t lines = 1'000'000;
  uint64_t seed = 1;
  DocumentReaderOptions documents;
  OnBadLine on_bad_line = OnBadLine::Stop;
  double max_memory = 0;  // bytes; 0: the free memory
  bool force = false;
  bool json = false;
};

constexpr int64_t kCheckEvery = 4096;  // documents
// Peak memory of SentencePiece's training, per byte of text, as measured.
constexpr double kUnigramPerByte = 26, kBpePerByte = 13;

struct ConvertFlags {
  std::string model;
  std::vector<std::string> files = {"-"};
  bool pieces = false;
};

// Throws if SentencePiece would need too much memory for the sample: `read` bytes in `seen` lines,
// of which at most --lines are kept.
void check_memory(const TrainFlags& flags, double read, int64_t seen) {
  const double per_byte =
      flags.trainer.kind == TokenizerKind::Unigram ? kUnigramPerByte : kBpePerByte;
  const double share = std::min(1.0, static_cast<double>(flags.lines) / static_cast<double>(seen));
  require_memory(per_byte * read * share, fmt::format("tokenizer train --lines {}", flags.lines),
                 flags.max_memory);
}

void train(TrainFlags flags) {
  for (const std::string& corpus : flags.corpora) {
    check_output_folder(flags.out, FolderKind::Tokenizer, {.force = flags.force, .input = corpus});
  }
  const auto start = std::chrono::steady_clock::now();
  BadLines bad_lines(flags.on_bad_line);
  flags.documents.lines.bad_lines = &bad_lines;
  std::vector<std::filesystem::path> files;
  for (const std::string& corpus : flags.corpora) {
    for (auto& file : expand_corpus(corpus)) files.push_back(std::move(file));
  }

  SentenceSample sample(flags.lines, flags.seed);
  int64_t documents = 0;
  double bytes = 0;
  {
    Progress progress({.label = "sampling", .unit = "docs"});
    DocumentReader reader(files, flags.documents);
    for (std::string text; reader.next(text);) {
      sample.add(text);
      bytes += static_cast<double>(text.size());
      if (documents % kCheckEvery == 0) check_memory(flags, bytes, sample.seen());
      progress.update(++documents,
                      fmt::format("file {} of {}", reader.file_index() + 1, files.size()));
    }
  }
  check_memory(flags, bytes, sample.seen());
  log::info("training on {} of {} lines; with many lines this takes minutes",
            sample.sentences().size(), sample.seen());
  flags.trainer.progress = true;
  const std::string model = train_tokenizer(sample.sentences(), flags.trainer);
  end_on_signals();  // nothing was written before this; the rest is fast
  write_tokenizer_folder(flags.out, model);

  const Vocabulary vocabulary = Tokenizer::load(flags.out).vocabulary();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const RowTotals rows{.rows = documents, .skipped = bad_lines.skipped()};
  if (flags.json) {
    const Json report = {{"out", flags.out},
                         {"model", name_of(flags.trainer.kind)},
                         {"pieces", vocabulary.pieces()},
                         {"vocabulary_size", vocabulary.size()},
                         {"documents", documents},
                         {"lines", sample.seen()},
                         {"lines_used", sample.sentences().size()},
                         {"bad_lines_skipped", bad_lines.skipped()},
                         {"rows", rows.to_json()},
                         {"seconds", seconds}};
    fmt::print("{}\n", report.dump());
  } else {
    fmt::print("{}: {} pieces, {} ids with sentinels and padding; {}, {:.0f} s\n", flags.out,
               vocabulary.pieces(), vocabulary.size(), counted(documents, "document"), seconds);
    if (const std::string said = rows.describe(); !said.empty()) fmt::print("  {}\n", said);
  }
}

void for_each_line(const std::vector<std::string>& files,
                   const std::function<void(const std::string&, const LineReader&)>& use) {
  for (const std::string& file : files) {
    LineReader lines(file);
    for (std::string line; lines.next(line);) use(line, lines);
  }
}

void encode(const ConvertFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  for_each_line(flags.files, [&](const std::string& line, const LineReader&) {
    const std::vector<int32_t> ids = tokenizer.encode(line);
    if (!flags.pieces) {
      fmt::print("{}\n", fmt::join(ids, " "));
      return;
    }
    std::vector<std::string> pieces;
    for (const int32_t id : ids) pieces.push_back(tokenizer.piece(id));
    fmt::print("{}\n", fmt::join(pieces, " "));
  });
}

std::vector<int32_t> parse_ids(const std::string& line, const Vocabulary& vocabulary,
                               const std::string& where) {
  std::vector<int32_t> ids;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    require(error == std::errc() && end == word.data() + word.size() && id >= 0 &&
                id < vocabulary.size(),
            "{}: {} is not an id; allowed: 0 to {}", where, word, vocabulary.size() - 1);
    ids.push_back(id);
  }
  return ids;
}

void decode(const ConvertFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  for_each_line(flags.files, [&](const std::string& line, const LineReader& lines) {
    fmt::print("{}\n", tokenizer.decode(parse_ids(line, tokenizer.vocabulary(), lines.where())));
  });
}

void add_train(CLI::App& tokenizer) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = tokenizer.add_subcommand(
      "train", "Train a tokenizer on a corpus; writes spiece.model and tokenizer_config.json");
  command->add_option("CORPUS,--corpus", flags->corpora, kCorpusHelp)->required();
  command->add_option("--out,-o", flags->out, "Output folder")->required();
  add_count(*command, "--vocabulary", flags->trainer.pieces,
            "Number of pieces, including <pad>, </s>, <unk> and the byte pieces; the model's "
            "vocabulary adds 100 sentinels and is rounded up to a multiple of 128",
            {.min = 4, .max = 1'000'000});
  add_enum(*command, "--model", flags->trainer.kind, "SentencePiece model type");
  command->add_flag("!--no-byte-fallback", flags->trainer.byte_fallback,
                    "No byte fallback: rare characters become unknown, as in T5's own tokenizer");
  add_real(*command, "--character-coverage", flags->trainer.character_coverage,
           "Fraction of the corpus' characters that get their own pieces", {.min = 0.98, .max = 1});
  add_count(*command, "--lines", flags->lines,
            "Maximum number of training lines, sampled from the whole corpus",
            {.max = 100'000'000});
  add_seed(*command, flags->seed, "Random seed of the sample");
  command->add_option("--field", flags->documents.field, "JSON field that holds the text")
      ->capture_default_str();
  add_enum(*command, "--on-bad-line", flags->on_bad_line, "What to do with an invalid line");
  add_max_memory(*command, flags->max_memory);
  command->add_flag("--force", flags->force, "Replace the tokenizer in the output folder");
  command->add_flag("--verbose", flags->trainer.verbose, "Show SentencePiece's own messages");
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer("Example:\n  convseq tokenizer train 'c4/en/*.json.gz' --out models/tokenizer");
  command->callback([flags] { train(*flags); });
}

void add_convert(CLI::App& tokenizer, const std::string& name, const std::string& description,
                 const std::string& example, void (*convert)(const ConvertFlags&)) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = tokenizer.add_subcommand(name, description);
  command
      ->add_option("MODEL,--model", flags->model,
                   "Tokenizer: a spiece.model file or the folder that holds it")
      ->required();
  command->add_option("FILE,--file", flags->files,
                      "Input files, plain, .gz or .zst (default: standard input)");
  if (convert == encode)
    command->add_flag("--pieces", flags->pieces, "Print pieces instead of ids");
  command->footer("Example:\n  " + example);
  command->callback([flags, convert] { convert(*flags); });
}

}  // namespace

void add_tokenizer(CLI::App& program) {
  CLI::App* tokenizer =
      program.add_subcommand("tokenizer", "Train a tokenizer, encode and decode text");
  tokenizer->require_subcommand(1);
  tokenizer->footer("Example:\n  convseq tokenizer train data/corpus --out models/tokenizer");
  add_train(*tokenizer);
  add_convert(*tokenizer, "encode", "Encode text as token ids, line by line",
              "echo 'A small sentence.' | convseq tokenizer encode models/tokenizer --pieces",
              encode);
  add_convert(*tokenizer, "decode", "Decode token ids to text, line by line",
              "echo '71 422 7142 5' | convseq tokenizer decode models/tokenizer", decode);
}

}  // namespace convseq::cli
