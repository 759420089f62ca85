// What the commands that train and evaluate refuse: in one line that names the thing, with exit
// code 2, before anything is made or lost.
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::CommandFlags;
using testing::commands;
using testing::Outcome;
using testing::run_command;
using testing::TempFolder;

namespace {

// Lines of the log, "12:34:56 info …", may stand before the error.
std::string error_of(const Outcome& outcome) {
  const std::string& text = outcome.output;
  const size_t begin = text.rfind("convseq: ");
  if (begin == text.npos || (begin > 0 && text[begin - 1] != '\n')) return "no error: " + text;
  return text.substr(begin);
}

void expect_refusal(const std::string& arguments, const std::string& named) {
  const Outcome outcome = run_command(arguments);
  const std::string error = error_of(outcome);
  EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.output;
  EXPECT_NE(error.find(named), error.npos) << named << " is not in\n" << error;
  EXPECT_EQ(error.find('\n'), error.size() - 1) << "more than a line:\n" << error;
  EXPECT_EQ(error.find(std::string(40, '0')), error.npos) << error;
}

struct Refusal {
  CommandFlags flags;
  std::string named;
};

// Every file below a folder, with what it holds.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) found[entry.path().string()] = read_text_file(entry.path());
  }
  return found;
}

// A small pre-trained model, made once.
const std::string& trained() {
  static const std::string folder = [] {
    const std::string out = commands().path("trained");
    testing::expect_success(commands().pretrain(out));
    return out;
  }();
  return folder;
}

std::string other_tokenizer(const std::string& name, const std::string& how) {
  const std::string out = commands().path(name);
  if (!fs::exists(out)) testing::expect_success(commands().tokenizer(name, how));
  return out;
}

// As many ids as the usual one, and others.
std::string same_size_tokenizer() {
  return other_tokenizer("unigram", "--model unigram --vocabulary 400");
}

}  // namespace

TEST(PretrainCommand, RefusesBadFlagsAndMakesNothing) {
  TempFolder folder;
  const std::string out = (folder / "out").string(), none = commands().path("none");
  const std::string whole = read_text_file(commands().path("tokenizer/spiece.model"));
  const std::string cut = folder.file("cut.model", whole.substr(0, whole.size() / 3)).string();
  const std::string text = folder.file("text.model", "the small river\n").string();
  const std::vector<Refusal> table = {
      {{{"--what", "3"}}, "--what"},
      {{{"--batch", "0"}}, "--batch: 0; allowed: 1 to 1000000000"},
      {{{"--batch", "few"}}, "--batch"},
      {{{"--lr", "-1"}}, "--lr: -1; allowed: a number over 0"},
      {{{"--lr", "nan"}}, "--lr: nan; allowed: a number over 0"},
      {{{"--label-smoothing", "2"}}, "--label-smoothing"},
      {{{"--clip", "0"}}, "--clip: 0; allowed: a number over 0"},
      {{{"--z-loss", "-1"}}, "--z-loss: -1; allowed: a number, 0 to "},
      {{{"--steps", "0"}}, "--steps"},
      {{{"--tokens", "-5"}}, "--tokens"},
      {{{"--warmup", "12"}}, "12 warm-up steps leave cosine nothing of 12 steps"},
      {{{"--decay", "13"}}, "13 decay steps are more than all 12 steps"},
      {{{"--save-every", "0"}}, "--save-every"},
      {{{"--keep", "0"}}, "--keep"},
      {{{"--keep", "1000000000"}}, out + ": 1000000001 more checkpoints of this model need "},
      {{{"--optimizer", "sgd"}}, "--optimizer: sgd; allowed: "},
      {{{"--schedule", "zigzag"}}, "--schedule: zigzag; allowed: "},
      {{{"--precision", "fp16"}}, "--precision: fp16; allowed: fp32, bf16, fp64"},
      {{{"--device", "tpu"}}, "--device: tpu; allowed: "},
      {{{"--source", "2"}}, "a source of 2 and a target of 16"},
      {{{"--target", "2"}}, "a source of 32 and a target of 2"},
      {{{"--set", "d_model=33"}}, "d_model 33 does not divide"},
      {{{"--set", "kernal=3"}}, "kernal is no known key"},
      {{{"--set", "vocab_size=1000"}}, "the tokenizer has 512 ids, the model's vocab_size is 1000"},
      {{{"--model", "paper-heavy-tiny"}}, "paper-heavy-tiny: no such file, model folder or preset"},
      {{{"--corpus", ""}}, "--corpus is required"},
      {{{"--corpus", none}}, none + ": no such file"},
      {{{"--corpus", commands().path("corpus") + "=0"}}, "its weight is 0"},
      {{{"--corpus", commands().path("corpus") + "=much"}},
       "=much: the weight after = is not a number"},
      {{{"--validation", none}}, none + ": no such file"},
      {{{"--corpus", text}}, text + ": not a form of corpus; "},
      {{{"--validation", text}}, text + ": not a form of corpus; "},
      {{{"--tokenizer", none}}, none + ": cannot open: No such file or directory"},
      {{{"--tokenizer", cut}}, cut + ": not a SentencePiece model"},
      {{{"--tokenizer", text}}, text + ": not a SentencePiece model"},
      {{{"--fresh", " "}, {"--resume", " "}}, "--fresh excludes --resume"},
      {{{"--objective", "prefix_lm"}, {"--noise", "0.3"}},
       "--noise 0.3: is an option of the objective span_corruption, and this run has prefix_lm"},
  };
  for (const Refusal& each : table) {
    expect_refusal(commands().pretrain(out, each.flags), each.named);
    ASSERT_FALSE(fs::exists(out)) << each.named;
  }
}

TEST(PretrainCommand, RefusesAFolderItCannotWriteTo) {
  TempFolder folder;
  const std::string file = folder.file("file", "precious").string();
  expect_refusal(commands().pretrain(file), file + ": is a file, not a folder");
  expect_refusal(commands().pretrain(file + "/below"), file + "/below: cannot create: ");
  EXPECT_EQ(read_text_file(file), "precious");
  expect_refusal(commands().pretrain("/proc/convseq"), "/proc/convseq: cannot create: ");
  expect_refusal(commands().pretrain("/proc/self"), "/proc/self: is not empty and no training run");
  // One that is there, and read-only; root may write everywhere.
  fs::create_directory(folder / "locked");
  fs::permissions(folder / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  const std::string locked = (folder / "locked").string();
  if (::geteuid() != 0)
    expect_refusal(commands().pretrain(locked), locked + "/.lock: cannot create: ");
  EXPECT_TRUE(fs::is_empty(folder / "locked"));
}

TEST(PretrainCommand, RefusesToGoOnAsAnotherRunAndLosesNothing) {
  TempFolder folder;
  const std::string out = (folder / "out").string(), newest = out + "/checkpoint-00000012";
  fs::copy(trained(), out, fs::copy_options::recursive);
  const auto before = contents(out);
  const std::string model = "d_model=32 d_ff=64 heads=2 d_kv=16 ";
  const std::vector<Refusal> table = {
      {{{"--tokenizer", same_size_tokenizer()}}, newest + ": was made with tokenizer "},
      {{{"--tokenizer", other_tokenizer("large", "--model bpe --vocabulary 600")}},
       newest + ": is a checkpoint of another model"},
      {{{"--set", model + "dropout=0.2"}}, newest + ": is a checkpoint of another model"},
      {{{"--set", model + "dropout=0.1 encoder_layers=1"}},
       newest + ": is a checkpoint of another model"},
      {{{"--model", "paper-dynamic-tiny"}}, newest + ": is a checkpoint of another model"},
      {{{"--optimizer", "adafactor"}},
       newest + ": was made with optimizer adamw_rms, this run has adafactor; "},
      {{{"--seed", "5"}}, newest + ": was made with seed 1, this run has 5; "},
      {{{"--source", "48"}}, newest + ": was made with source length 32, this run has 48; "},
      {{{"--batch", "8"}}, newest + ": was made with batch 4, this run has 8; "},
      {{{"--lr", "0.01"}}, newest + ": was made with learning rate 0.02, this run has 0.01; "},
      {{{"--schedule", "linear"}}, newest + ": was made with schedule cosine, this run has linear"},
      {{{"--noise", "0.3"}}, newest + ": was made with noise density 0.15, this run has 0.3; "},
      {{{"--precision", "fp64"}}, newest + ": was made with precision Float, this run has Double"},
      {{{"--objective", "prefix_lm"}},
       newest + ": was made with objective span_corruption, this run has prefix_lm; "},
  };
  for (Refusal each : table) {
    each.flags["--steps"] = "16";
    expect_refusal(commands().pretrain(out, each.flags), each.named);
    ASSERT_TRUE(contents(out) == before) << each.named;
  }
}

TEST(FinetuneCommand, RefusesToGoOnAsAnotherRunAndLosesNothing) {
  TempFolder folder;
  const std::string out = (folder / "out").string(), newest = out + "/checkpoint-00000012";
  const std::string other = (folder / "other").string();
  testing::expect_success(commands().pretrain(other, {{"--seed", "7"}}));
  testing::expect_success(commands().finetune(out, {{"--from", trained()}}));
  const auto before = contents(out);
  const std::vector<Refusal> table = {
      {{{"--seed", "5"}}, "seed 1, this run has 5"},
      {{{"--from", other}}, "first weights "},
      {{{"--lr", "0.001"}}, "learning rate 0.005, this run has 0.001"},
      {{{"--schedule", "cosine"}}, "schedule linear, this run has cosine"},
      {{{"--class-weights", "balanced"}}, "class weights none, this run has balanced"},
      {{{"--class-weights", "yes=2"}}, "class weights none, this run has yes=2"},
      {{{"--freeze-encoder", " "}}, "frozen encoder no, this run has yes"},
      {{{"--weight-decay", "0.1"}}, "weight decay 0, this run has 0.1"},
      {{{"--batch", "4"}}, "batch 8, this run has 4"},
      {{{"--train-limit", "32"}}, "examples 64 ("},
      {{{"--metrics", "matthews"}}, "metric accuracy, this run has matthews"},
      {{{"--validation-limit", "8"}}, "validation data "},
  };
  for (Refusal each : table) {
    each.flags.insert({"--from", trained()});
    expect_refusal(commands().finetune(out, each.flags), newest + ": was made with " + each.named);
    ASSERT_TRUE(contents(out) == before) << each.named;
  }
}

TEST(FinetuneCommand, RefusesBadInputAndMakesNothing) {
  TempFolder folder;
  const std::string out = (folder / "out").string(), none = (folder / "none").string();
  const std::string empty = (folder / "empty").string(), cut = (folder / "cut").string();
  fs::create_directory(empty);
  fs::copy(trained(), cut, fs::copy_options::recursive);
  fs::resize_file(cut + "/model.safetensors", 3000);
  struct Case {
    std::string task;
    Refusal refusal;
  };
  const CommandFlags from = {{"--from", trained()}};
  const auto with = [&](CommandFlags more) {
    more.insert(from.begin(), from.end());
    return more;
  };
  const std::string large = other_tokenizer("large", "--model bpe --vocabulary 600");
  const std::vector<Case> table = {
      {"span_2", {with({{"--answer", "pooled"}}), "/span_2/validation.jsonl:1: the label "}},
      {"span_2", {with({{"--class-weights", "yes=2"}}), "yes is not a label of span_2"}},
      {"pair_1", {with({{"--answer", "loud"}}), "--answer: loud; allowed: text, pooled"}},
      {"pair_1", {with({{"--class-weights", "maybe=2"}}), "maybe is not a label of pair_1"}},
      {"pair_1",
       {with({{"--class-weights", "yes=0"}}), "--class-weights yes=0: must be more than 0"}},
      {"pair_1", {with({{"--class-weights", "yes=much"}}), "--class-weights yes=much"}},
      {"pair_1",
       {with({{"--class-weights", "balanced,yes=2"}}),
        "either balanced or LABEL=NUMBER, not both"}},
      {"pair_1", {with({{"--test", none}}), none + ": no such file"}},
      {"pair_1", {with({{"--held-out", "1"}}), "--held-out: 1; allowed: a number, 0 to 0.99"}},
      {"pair_1", {with({{"--batch", "0"}}), "--batch: 0; allowed: 1 to 1000000000"}},
      {"pair_1", {with({{"--what", "3"}}), "--what"}},
      {"pair_1", {with({{"--set", "d_model=64"}}), trained() + "/model.safetensors: tensor "}},
      {"pair_1", {with({{"--model", "paper-light-tiny"}}), "give either --from"}},
      {"pair_1", {with({{"--tokenizer", large}}), large + ": the tokenizer has 600 pieces"}},
      {"pair_1",
       {with({{"--tokenizer", same_size_tokenizer()}}),
        same_size_tokenizer() + ": is another tokenizer than the one " + trained()}},
      {"pair_1", {{{"--from", none}}, none + ": no such model folder"}},
      {"pair_1", {{{"--from", empty}}, empty + "/config.json: cannot open: "}},
      {"pair_1", {{{"--from", cut}}, cut + "/model.safetensors: header of "}},
      {"pair_1", {{{"--tokenizer", ""}}, "a new model needs a --tokenizer"}},
      {"poem_9", {from, commands().task("poem_9") + ": neither a task file nor a known task"}},
  };
  for (const Case& each : table) {
    expect_refusal(commands().finetune(out, each.refusal.flags, each.task), each.refusal.named);
    ASSERT_FALSE(fs::exists(out)) << each.refusal.named;
  }
  expect_refusal("finetune " + out + " sst3 --from " + trained(), "sst3: neither a task file nor ");
  // A pre-training folder is no place for a fine-tuning run.
  const auto before = contents(trained());
  expect_refusal(commands().finetune(trained(), from),
                 trained() + ": is the model to start from; ");
  expect_refusal(commands().finetune(trained()),
                 trained() + "/checkpoint-00000012: is a checkpoint ");
  EXPECT_TRUE(contents(trained()) == before);
}

TEST(EvaluateCommand, RefusesWhatIsNotThere) {
  TempFolder folder;
  const std::string none = (folder / "none").string();
  const auto evaluate = [&](const std::string& model, const std::string& task,
                            const std::string& more) {
    return "evaluate " + model + " " + commands().task(task) + " --quiet " + more;
  };
  const std::vector<std::pair<std::string, std::string>> table = {
      {evaluate(trained(), "pair_1", "--split dev"), "pair_1 has no split dev; it has: train, "},
      {evaluate(trained(), "pair_1", "--answer head"), "the model has no classification head"},
      {evaluate(trained(), "pair_1", "--answer loud"), "--answer: loud; allowed: "},
      {evaluate(trained(), "span_2", "--answer labels"), "span_2: has no list of labels"},
      {evaluate(none, "pair_1", ""), none + ": no such model folder"},
      {evaluate(trained(), "poem_9", ""), "neither a task file nor a known task"},
      {evaluate(trained(), "pair_1", "--predictions " + none + "/p.jsonl"), none + "/p.jsonl"},
      {evaluate(trained(), "pair_1", "--batch 0"), "--batch: 0; allowed: 1 to 1000000000"},
      {"evaluate " + trained(), "no data: name a task"},
  };
  for (const auto& [arguments, named] : table) expect_refusal(arguments, named);
}

}  // namespace convseq
