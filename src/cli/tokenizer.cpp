#include "text/tokenizer.h"

#include <fmt/ranges.h>

#include <charconv>
#include <chrono>

#include "base/json_file.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "data/document_reader.h"
#include "text/sentence_sample.h"
#include "text/tokenizer_trainer.h"

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
  bool json = false;
};

struct ConvertFlags {
  std::string model;
  std::vector<std::string> files = {"-"};
  bool pieces = false;
};

void train(TrainFlags flags) {
  const auto start = std::chrono::steady_clock::now();
  BadLines bad_lines(flags.on_bad_line);
  flags.documents.lines.bad_lines = &bad_lines;
  std::vector<std::filesystem::path> files;
  for (const std::string& corpus : flags.corpora) {
    for (auto& file : expand_corpus(corpus)) files.push_back(std::move(file));
  }

  SentenceSample sample(flags.lines, flags.seed);
  int64_t documents = 0;
  {
    Progress progress({.label = "sampling", .unit = "docs"});
    DocumentReader reader(files, flags.documents);
    for (std::string text; reader.next(text);) {
      sample.add(text);
      progress.update(++documents,
                      fmt::format("file {} of {}", reader.file_index() + 1, files.size()));
    }
  }
  log::info("training on {} of {} lines; this takes minutes where they are many (--verbose)",
            sample.sentences().size(), sample.seen());
  write_tokenizer_folder(flags.out, train_tokenizer(sample.sentences(), flags.trainer));

  const Vocabulary vocabulary = Tokenizer::load(flags.out).vocabulary();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const std::string skipped = bad_lines.summary(); !skipped.empty())
    log::warning("{}", skipped);
  if (flags.json) {
    const Json report = {{"out", flags.out},
                         {"model", name_of(flags.trainer.kind)},
                         {"pieces", vocabulary.pieces()},
                         {"vocabulary_size", vocabulary.size()},
                         {"documents", documents},
                         {"lines", sample.seen()},
                         {"lines_used", sample.sentences().size()},
                         {"bad_lines_skipped", bad_lines.skipped()},
                         {"seconds", seconds}};
    fmt::print("{}\n", report.dump());
  } else {
    fmt::print("{}: {} pieces, {} ids with sentinels and padding; {} documents, {:.0f} s\n",
               flags.out, vocabulary.pieces(), vocabulary.size(), documents, seconds);
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
            "{}: {} is no id; allowed: 0 to {}", where, word, vocabulary.size() - 1);
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
      "train", "Learn a vocabulary from a corpus; writes spiece.model and tokenizer_config.json");
  command
      ->add_option("CORPUS", flags->corpora,
                   "Files, folders or patterns: .json or .jsonl (a text field a line), .txt (a "
                   "document a line), also with .gz or .zst; - reads standard input")
      ->required();
  command->add_option("--out,-o", flags->out, "The folder to write")->required();
  command
      ->add_option("--vocabulary", flags->trainer.pieces,
                   "Pieces, special and byte pieces included, sentinels and padding not")
      ->check(CLI::Range(4, 1'000'000))
      ->capture_default_str();
  add_enum(*command, "--model", flags->trainer.kind, "The kind of model");
  command->add_flag("!--no-byte-fallback", flags->trainer.byte_fallback,
                    "No byte pieces: rare characters become unknown, as in T5's own model");
  command
      ->add_option("--character-coverage", flags->trainer.character_coverage,
                   "Share of the characters that get pieces of their own")
      ->check(CLI::Range(0.9, 1.0))
      ->capture_default_str();
  command->add_option("--lines", flags->lines, "Lines to train on, sampled over the whole corpus")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of the sample")->capture_default_str();
  command->add_option("--field", flags->documents.field, "The text field of a JSON line")
      ->capture_default_str();
  add_enum(*command, "--on-bad-line", flags->on_bad_line, "What to do with a line it cannot read");
  command->add_flag("--verbose", flags->trainer.verbose, "Show SentencePiece's own messages");
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer("Example:\n  convseq tokenizer train 'c4/en/*.json.gz' --out models/tokenizer");
  command->callback([flags] { train(*flags); });
}

void add_convert(CLI::App& tokenizer, const std::string& name, const std::string& description,
                 const std::string& example, void (*convert)(const ConvertFlags&)) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = tokenizer.add_subcommand(name, description);
  command->add_option("MODEL", flags->model, "spiece.model, or a folder that holds it")->required();
  command->add_option("FILE", flags->files, "Files, plain, .gz or .zst; standard input otherwise");
  if (convert == encode) command->add_flag("--pieces", flags->pieces, "Pieces instead of ids");
  command->footer("Example:\n  " + example);
  command->callback([flags, convert] { convert(*flags); });
}

}  // namespace

void add_tokenizer(CLI::App& program) {
  CLI::App* tokenizer = program.add_subcommand("tokenizer", "Train and try a tokenizer");
  tokenizer->require_subcommand(1);
  add_train(*tokenizer);
  add_convert(*tokenizer, "encode", "Text to ids, a line for a line",
              "echo 'A small sentence.' | convseq tokenizer encode models/tokenizer --pieces",
              encode);
  add_convert(*tokenizer, "decode", "Ids to text, a line for a line",
              "echo '71 422 7142 5' | convseq tokenizer decode models/tokenizer", decode);
}

}  // namespace convseq::cli
