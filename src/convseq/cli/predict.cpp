#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <set>

#include "convseq/answer/predict/prediction_format.h"
#include "convseq/answer/predict/prediction_stream.h"
#include "convseq/base/file/output_file.h"
#include "convseq/base/log.h"
#include "convseq/base/progress.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/engines.h"
#include "convseq/cli/options/model_task.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"

namespace convseq::cli {
namespace fs = std::filesystem;
namespace {

// A signal stops what appears whole before it is there; what is written line by line has its lines.
void throw_if_stopped(const OutputFile& out) {
  throw_if_interrupted("predict: stopped{}", out.appears_whole() ? "; nothing was written" : "");
}

struct PredictFlags {
  fs::path model;
  fs::path input = "-";
  TextReaderOptions read;
  std::string source;  // a template, instead of the model's
  std::optional<AnswerBy> by;
  std::vector<std::string> thresholds;
  fs::path out = "-";
  PredictionForm form = PredictionForm::JsonLines;
  int64_t top = 0;
  int64_t max_source_tokens = 0, max_target_tokens = 0;  // 0: the task's
  EngineChoice engine;
  LengthBatchOptions batches;
  PredictionStreamOptions stream;
  double max_memory = 0;
  bool quiet = false;
};

// What the model folder remembers of its task, changed as the flags say. A model that was never
// fine-tuned reads the text as it is.
Task task_for(const PredictFlags& flags, const ModelConfig& config) {
  Task task = remembered_task(flags.model).value_or(Task{});
  if (task.name.empty()) task.name = flags.model.string();
  if (task.source.pattern().empty()) task.source = TextTemplate("{text}");
  if (task.labels.empty() && !config.labels.empty()) {
    task.labels = config.labels;
    task.label_kind = config.label_kind;
  }
  if (!flags.source.empty()) {
    task.source = TextTemplate(flags.source);
    task.cut.clear();
  }
  check_token_limit("--max-source-tokens", flags.max_source_tokens);
  if (flags.max_source_tokens > 0) task.max_source_tokens = flags.max_source_tokens;
  if (flags.max_target_tokens > 0) task.max_target_tokens = flags.max_target_tokens;
  fit_to_positions(task, config);
  return task;
}

// A model that was never fine-tuned fills the spans that "<extra_id_0>" and so on stand for, if it
// has rows for them.
bool reads_sentinels(const fs::path& model, const ModelConfig& config, const Vocabulary& words) {
  return !remembered_task(model) && config.vocab_size > words.sentinel(0);
}

// The values of --threshold, from what stands between its commas: a piece that is no value is the
// beginning of a label with a comma.
std::vector<std::string> thresholds_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> values;
  std::string value;
  for (const std::string& piece : pieces) {
    value += (value.empty() ? "" : ",") + piece;
    if (!named_number(value).has_equals && !parse_real(value)) continue;
    values.push_back(std::exchange(value, {}));
  }
  if (!value.empty()) values.push_back(value);  // to be refused
  return values;
}

// --threshold LABEL=P; P alone is of every label where labels are independent, else of the task's
// positive label.
Calibration calibration_for(const PredictFlags& flags, const Task& task, LabelKind kind) {
  if (flags.thresholds.empty()) return load_calibration(flags.model, kind, task.labels);
  Calibration calibration = Calibration::load(flags.model);
  if (kind == LabelKind::Single) calibration.thresholds.clear();  // it has one at most
  constexpr RealRange kProbability{.max = 1};
  std::set<std::string> named;
  for (const std::string& text : thresholds_of(flags.thresholds)) {
    const NamedNumber given = named_number(text);
    const std::string whose = given.has_equals ? given.name : "";
    require(named.insert(whose).second, "--threshold: given twice{}",
            whose.empty() ? "" : " for " + whose);
    if (given.has_equals) {
      calibration.thresholds[given.name] =
          real_of_flag("--threshold", text.substr(given.name.size() + 1), kProbability);
      continue;
    }
    const double threshold = real_of_flag("--threshold", text, kProbability);
    if (kind == LabelKind::Multi) {
      for (const std::string& label : task.labels) calibration.thresholds[label] = threshold;
      continue;
    }
    require(
        !task.positive_label.empty(),
        "--threshold {}: the model's task has no positive label; write LABEL={} with one of: {}",
        text, text, fmt::join(task.labels, ", "));
    calibration.thresholds[task.positive_label] = threshold;
  }
  return calibration;
}

RowShard shard_of_flag(const std::string& text) {
  const size_t slash = text.find('/');
  require(slash != text.npos && text.find('/', slash + 1) == text.npos,
          "--shard: {}; allowed: such as 3/16, the third of sixteen shards", text);
  const int64_t count = count_of_flag("--shard", text.substr(slash + 1), {.max = kMostRows});
  return {.index = count_of_flag("--shard", text.substr(0, slash), {.max = count}), .count = count};
}

void ask() { std::fputs("> ", stderr); }

// Window by window; in a dialogue on a terminal each line is answered at once. The first one was
// asked for already, since opening the input reads its first bytes.
PredictionTotals predict_all(const PredictFlags& flags, bool dialogue, TextReader& reader,
                             const TaskEncoder& encoder, Predictor& predictor, OutputFile& out,
                             const PredictionFormat& format) {
  const bool answers_on_terminal = flags.out == "-" && ::isatty(STDOUT_FILENO) == 1;
  std::optional<Progress> progress;
  if (!flags.quiet && !dialogue && !answers_on_terminal) {
    progress.emplace(ProgressOptions{.label = "predict", .unit = "rows", .first = 0});
  }
  int64_t done = 0;
  const auto totals =
      predict_rows(reader, encoder, predictor, flags.stream, [&](const auto& predictions) {
        throw_if_stopped(out);
        for (const Prediction& each : predictions) out.write(format.line(each));
        out.flush();
        done += std::ssize(predictions);
        if (progress) progress->update(done);
        if (dialogue) ask();
      });
  if (dialogue) std::fputs("\n", stderr);
  return totals;
}

std::vector<fs::path> files_read(const PredictFlags& flags) {
  std::vector<fs::path> files = files_of_model(flags.model);
  files.push_back(flags.input);
  return files;
}

void run(PredictFlags& flags) {
  if (flags.quiet) log::set_level(log::Level::Warning);
  require(fs::is_directory(flags.model), "{}: no such model folder", flags.model.string());
  require(fs::exists(flags.model / kConfigFile), "{}: no model folder: it has no {}",
          flags.model.string(), kConfigFile);
  end_on_signals();
  // What cannot be written is refused before anything is computed.
  OutputFile out(flags.out, files_read(flags));
  flags.engine.as_in_training = false;
  flags.engine.keeps_packed_file = true;
  flags.stream.threads = static_cast<size_t>(flags.engine.threads);
  const Tokenizer plain = Tokenizer::load(flags.model);
  const auto engine = load_engine(flags.model, flags.engine);  // may write packed weights
  if (!out.appears_whole()) stop_at_once_again();
  throw_if_stopped(out);
  const ModelConfig& config = engine->config();
  const bool has_sentinels = reads_sentinels(flags.model, config, plain.vocabulary());
  const Tokenizer tokenizer = has_sentinels ? plain.with_sentinels() : plain;
  const Task task = task_for(flags, config);
  require_answer_memory(
      flags.model, config, flags.engine,
      {.rows = std::clamp<int64_t>(flags.batches.max_tokens / task.max_source_tokens, 1,
                                   flags.batches.max_rows),
       .source = task.max_source_tokens,
       .target = task.max_target_tokens},
      flags.max_memory);

  const AnswerBy by = flags.by.value_or(usual_answer(config, task));
  const bool needs_labels = by == AnswerBy::Labels || (by == AnswerBy::Head && config.classes > 0);
  require(
      !needs_labels || !task.labels.empty(), "{}: has no list of labels{}", flags.model.string(),
      by == AnswerBy::Head ? ""
                           : "; fine-tune the model on a task with labels, or use --answer greedy");
  require(by != AnswerBy::Greedy || flags.thresholds.empty(),
          "--threshold: the model answers with text, which has no probabilities of labels");
  Calibration calibration;
  if (by != AnswerBy::Greedy) {
    calibration = calibration_for(flags, task, label_kind_of(config, by));
  }
  PredictorOptions options = predictor_options(*engine, tokenizer, task, by, calibration);
  options.batches = flags.batches;
  options.batches.on_batch = [&](size_t) { throw_if_stopped(out); };
  if (has_sentinels) options.spans.emplace(tokenizer);
  Predictor predictor(*engine, std::move(options));
  const TaskEncoder encoder(task, tokenizer);
  const auto& decision = predictor.decision();
  const PredictionFormat format({.form = flags.form,
                                 .decision = decision ? &*decision : nullptr,
                                 .top = flags.top,
                                 .fills_spans = predictor.fills_spans()});
  out.write(format.header());
  const bool dialogue = flags.input == "-" && ::isatty(STDIN_FILENO) == 1;
  if (dialogue) ask();
  flags.read.source = task.source;
  std::atomic<bool> failed = false;
  flags.read.stop = [&failed] { return interrupted() || failed; };
  flags.stream.on_failure = [&failed] { failed = true; };
  PredictionTotals totals;
  try {
    TextReader reader(flags.input, flags.read);
    totals = predict_all(flags, dialogue, reader, encoder, predictor, out, format);
  } catch (const Error&) {
    // The input seems to end where it was stopped.
    throw_if_stopped(out);
    throw;
  }
  throw_if_stopped(out);
  out.commit();
  // As where a table's columns are not those that the model reads.
  require(totals.failed < totals.rows || totals.rows == 0,
          "{}: no row could be answered; the first: {}",
          flags.input == "-" ? "standard input" : flags.input.string(), totals.first_error);
  if (totals.failed > 0) {
    log::warning("{}", totals.describe());
  } else {
    log::info("{}", totals.describe());
  }
}

}  // namespace

void add_predict(CLI::App& program) {
  auto flags = std::make_shared<PredictFlags>();
  CLI::App* command =
      program.add_subcommand("predict",
                             "Predict labels with their probabilities, or text, for the rows of a "
                             "file; a model that is only pre-trained fills the masked spans "
                             "<extra_id_0>, <extra_id_1>, …");
  command->add_option("MODEL,--model", flags->model, "Model folder")->required();
  command
      ->add_option(
          "FILE,--file", flags->input,
          "Input file: one text per line, or a table (.jsonl, .json, .csv, .tsv), optionally "
          "compressed (.gz, .zst); - reads standard input")
      ->capture_default_str();
  add_enum(*command, "--input-format", flags->read.form,
           "Input format (default: by the file's name; standard input: JSON lines or plain lines)");
  CLI::Option* column =
      command->add_option("--column", flags->read.column, "Column that holds the text");
  command
      ->add_option("--source", flags->source,
                   "Input template with column names, such as 'review: {text}' (default: the "
                   "model's)")
      ->excludes(column);
  command->add_option("--out", flags->out, "Output file (- = standard output)")
      ->capture_default_str()
      ->type_name("FILE");
  add_enum(*command, "--output-format", flags->form, "Output format, one line per row");
  add_count(*command, "--top", flags->top,
            "List only the N likeliest labels with their probabilities (0 = all)",
            {.min = 0, .max = kMostRows});
  command
      ->add_option("--threshold", flags->thresholds,
                   "Decision threshold: lowest probability at which a label is predicted (without "
                   "LABEL=: for the positive label, or for every label of a multi-label model)")
      ->type_name("[LABEL=]NUMBER,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_enum(*command, "--answer", flags->by,
           "Prediction method: greedy = generated text, labels = the label that the decoder finds "
           "likeliest, head = classification head (default: head for a model without a decoder, "
           "else labels if the task has them, else greedy)");
  command
      ->add_option_function<std::string>(
          "--shard",
          [flags](const std::string& text) { flags->stream.shard = shard_of_flag(text); },
          "Part I of N of the input: every N-th row, starting with row I")
      ->type_name("I/N");
  add_count(*command, "--max-source-tokens", flags->max_source_tokens,
            "Maximum source length in tokens (0 = the task's limit)", {.min = 0, .max = kLongest});
  add_count(*command, "--max-target-tokens", flags->max_target_tokens,
            "Maximum length of generated text in tokens (0 = the task's limit)",
            {.min = 0, .max = kLongest});
  add_count(*command, "--batch", flags->batches.max_rows, "Batch size", {.max = kMostRows});
  add_count(*command, "--window", flags->stream.window,
            "Rows read ahead and sorted by length; a pipe that pauses is answered before",
            {.max = kMostRows});
  add_engine_flags(*command, flags->engine);
  add_max_memory(*command, flags->max_memory);
  command->add_flag("--quiet", flags->quiet, "Hide progress and info messages");
  command->footer(
      "Examples:\n  convseq predict models/sst2 reviews.txt > labels.jsonl\n"
      "  convseq predict models/sst2 reviews.csv --column body --output-format tsv --out out.tsv\n"
      "  zcat comments.jsonl.gz | convseq predict models/toxic - --threshold 0.8 "
      "--output-format labels\n"
      "  echo 'The river runs <extra_id_0> the sea.' | convseq predict models/convseq-mini "
      "--output-format labels");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
