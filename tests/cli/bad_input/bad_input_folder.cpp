#include "bad_input_folder.h"

#include <fmt/format.h>

#include "compressed.h"
#include "convseq/base/error.h"
#include "shell.h"

namespace convseq::testing {
namespace fs = std::filesystem;
namespace {

const std::string kDeep(100'000, '[');
const std::string kLatin1 = "caf\xe9";

}  // namespace

BadInputFolder::BadInputFolder() {
  make_good_files();
  make_texts();
  make_tables();
  make_tasks();
  make_config_files();
  make_configs();
  make_models();
  make_calibrations();
  make_shards();
  make_outputs();
}

void BadInputFolder::run(const std::string& arguments) const {
  const Outcome outcome = run_shell(fmt::format(
      "cd '{}' && env OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=0 " CONVSEQ_PROGRAM " {}",
      path().string(), arguments));
  require(outcome.exit_code == 0, "{}: {}", arguments, outcome.output);
}

void BadInputFolder::file(const std::string& name, const std::string& content) const {
  fs::create_directories((path() / name).parent_path());
  folder_.file(name, content);
}

std::string BadInputFolder::text(const std::string& name) const {
  return read_text_file(path() / name);
}

void BadInputFolder::make_good_files() const {
  const std::string sizes =
      "d_model=16 d_ff=16 heads=2 d_kv=8 conv_heads=2 encoder_layers=2 decoder_layers=2";
  run("synth corpus corpus --documents 60 --validation-documents 10 --shards 2");
  run("tokenizer train corpus --out tokenizer --model bpe --vocabulary 400");
  run("tokenizer train corpus --out other-tokenizer --model bpe --vocabulary 350");
  run("synth tasks tasks --family pair --comparisons 1 --train 24 --validation 8 --test 8");
  run("tokenize corpus shards --tokenizer tokenizer --quiet");
  run("tokenize corpus other-shards --tokenizer other-tokenizer --quiet");
  run("pretrain model --corpus shards --tokenizer tokenizer --batch 2 --source 32 --target 16 "
      "--steps 2 --warmup 1 --device cpu --quiet --set " +
      sizes);
  run("finetune tuned tasks/pair_1/task.json --from model --answer pooled --steps 2 --batch 4 "
      "--device cpu --quiet");
  fs::copy(CONVSEQ_SOURCE_DIR "/tests/goldens/hf_t5_v1_0", path() / "hf");
  file("good.csv", "text,label\nA fine film.,good\nA dull one.,bad\nFine again.,good\n");
  file("good.jsonl", "{\"text\": \"A fine film.\", \"label\": \"good\"}\n");
  file("lines.txt", "A line.\nAnother line.\n");
  file("options/good.json", R"({"corpus": "corpus", "tokenizer": "tokenizer", "out": "out"})");
}

void BadInputFolder::make_texts() const {
  fs::create_directories(path() / "empty");
  fs::create_symlink("loop", path() / "loop");
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += fmt::format("Line {} of {}.\n", i, i * i);
  const std::string gz = gzip(lines);
  file("cut.txt.gz", gz.substr(0, gz.size() / 2));
  file("longest.txt.zst", zstd(std::string(17 << 20, 'x') + "\n"));
  file("empty.txt", "");
  file("latin1.txt", "good\n" + kLatin1 + "\n");
  file("broken.jsonl", "{\"text\": \"a\", \"label\": \"b\"}\n{\"text\": \"a\n");
  file("no-text.jsonl", "{\"body\": \"a\", \"label\": \"b\"}\n");
  file("ids.txt", "5 99999 7\n");
  file("overflow.txt", "99999999999999999999\n");
  file("empty-tokenizer/spiece.model", "");
  copy("tokenizer", "flipped-tokenizer");
  file("flipped-tokenizer/spiece.model", text("tokenizer/spiece.model").substr(0, 1001));
  file("bare-tokenizer/tokenizer_config.json", text("tokenizer/tokenizer_config.json"));
}

void BadInputFolder::make_tables() const {
  const std::string head = "text,label\n";
  fs::create_symlink("loop.csv", path() / "loop.csv");
  file("empty.csv", "");
  file("good.parquet", "PAR1");
  file("no-header.csv", "A fine film.,good\nA dull one.,bad\n");
  file("same-names.csv", "text,text,label\na,b,good\n");
  file("wide-row.csv", head + "a,good\nb,bad,more\n");
  file("open-quote.csv", head + "\"a,good\nb,bad\n");
  file("latin1.csv", head + kLatin1 + ",good\n");
  file("no-label.csv", head + "a,good\nb,\nc,bad\n");
  file("null.jsonl", "{\"text\": \"a\", \"label\": \"b\"}\n{\"text\": \"a\", \"label\": null}\n");
  file("twice.jsonl", "{\"text\": \"a\", \"text\": \"b\", \"label\": \"b\"}\n");
  file("longest.jsonl.zst",
       zstd("{\"label\": \"b\", \"text\": \"" + std::string(17 << 20, 'x') + "\"}\n"));
  file("semicolons.csv", "text;label\na;good\nb;bad\n");
  file("tabs.csv", "text\tlabel\na\tgood\nb\tbad\n");
  file("two-labels.txt", "__label__good A film.\n__label__good __label__bad Another.\n");
  file("all-bad.csv", head + "a,fair\nb,middling\n");
  file("long-label.csv", head + "a,good\nb,extraordinarily\nc,good\nd,good\n");
}

void BadInputFolder::task(const std::string& name, const std::function<void(Json&)>& change) const {
  Json json = Json::parse(text("tasks/pair_1/task.json"));
  json["name"] = name;
  for (auto& [split, split_file] : json["files"].items()) {
    split_file = "../tasks/pair_1/" + split_file.get<std::string>();
  }
  change(json);
  file("bad/" + name + ".json", json.dump(2));
}

void BadInputFolder::make_tasks() const {
  task("unknown", [](Json& task) { task["sorce"] = task["source"]; });
  task("no-files", [](Json& task) { task.erase("files"); });
  task("files-number", [](Json& task) { task["files"]["train"] = 3; });
  task("missing-file", [](Json& task) { task["files"]["test"] = "gone.jsonl"; });
  task("two-targets", [](Json& task) { task["answers"] = "label"; });
  task("label-twice", [](Json& task) { task["labels"] = {"yes", "no", "yes"}; });
  task("label-empty", [](Json& task) { task["labels"] = {"yes", "no", ""}; });
  task("metric-twice", [](Json& task) { task["metrics"] = {"accuracy", "accuracy"}; });
  task("f1", [](Json& task) { task["metrics"] = {"f1"}; });
  task("positive", [](Json& task) { task["positive_label"] = "perhaps"; });
  task("cut", [](Json& task) { task["cut"] = "nothing"; });
  task("brace", [](Json& task) { task["source"] = "{premise"; });
  task("zero-tokens", [](Json& task) { task["max_source_tokens"] = 0; });
  task("huge-tokens", [](Json& task) { task["max_target_tokens"] = int64_t{1} << 62; });
  task("drop-all", [](Json& task) { task["drop"] = {{"label", {"yes", "no"}}}; });
  task("category", [](Json& task) { task["category"] = "genre"; });
  task("other-labels", [](Json& task) { task["labels"] = {"true", "false"}; });
  task("no-train", [](Json& task) { task["files"].erase("train"); });
  file("bad/key-twice.json", "{\"name\": \"a\", \"name\": \"b\"}");
}

void BadInputFolder::make_config_files() const {
  const std::string rest = R"(, "corpus": "corpus", "tokenizer": "tokenizer", "out": "out"})";
  file("empty.json", "");
  file("not.json", "{\"a\": ");
  file("list.json", "[1, 2]");
  file("deep.json", kDeep);
  file("options/unknown.json", R"({"bach": 3)" + rest);
  file("options/twice.json", R"({"batch": 3, "batch": 4)" + rest);
  file("options/object.json", R"({"batch": {"size": 3})" + rest);
  file("options/range.json", R"({"batch": 0)" + rest);
  file("options/flag.json", R"({"recompute": 3)" + rest);
  file("options/itself.json", R"({"config": "options/good.json")" + rest);
  file("options/missing.json", R"({"out": "out", "tokenizer": "tokenizer"})");
  file("options/bench.json", R"({"channels": -768, "device": "cpu"})");
}

void BadInputFolder::config(const std::string& name,
                            const std::function<void(Json&)>& change) const {
  Json json = Json::parse(text("model/config.json"));
  change(json);
  file("config/" + name + ".json", json.dump(2));
}

void BadInputFolder::make_configs() const {
  config("unknown", [](Json& config) { config["kernal_sizes"] = 3; });
  config("text", [](Json& config) { config["d_model"] = "large"; });
  config("kernels", [](Json& config) { config["kernel_sizes"] = {3, 3, 3}; });
  config("attention-layer", [](Json& config) { config["encoder_attention_layers"] = {99}; });
  config("labels", [](Json& config) { config["labels"] = {"yes", "no"}; });
  config("same-labels", [](Json& config) {
    config["classes"] = 2;
    config["labels"] = {"yes", "yes"};
  });
  config("no-decoder", [](Json& config) { config["decoder_layers"] = 0; });
  config("start", [](Json& config) { config["decoder_start_token_id"] = 512; });
  config("pad", [](Json& config) { config["pad_token_id"] = -1; });
  config("eps", [](Json& config) { config["norm_eps"] = -1; });
}

void BadInputFolder::copy(const std::string& from, const std::string& to) const {
  fs::create_directories(path() / to);
  for (const auto& entry : fs::directory_iterator(path() / from)) {
    if (entry.is_regular_file()) fs::copy(entry, path() / to / entry.path().filename());
  }
}

void BadInputFolder::make_shards() const {
  const std::string shard = text("shards/00000.tokens");
  const auto shards = [&](const std::string& name, const std::string& tokens) {
    copy("shards", name);
    file(name + "/00000.tokens", tokens);
  };
  shards("cut-shards", shard.substr(0, shard.size() / 2));
  std::string flipped = shard;
  for (size_t at = 2000; at < flipped.size() - 2000; at += 1000) flipped[at] ^= 1;
  shards("flipped-shards", flipped);
  shards("foreign-shards", std::string(shard.size(), 'x'));
  shards("missing-shards", shard);
  fs::remove(path() / "missing-shards/00000.tokens");

  const auto manifest = [&](const std::string& folder, const std::function<void(Json&)>& change) {
    shards(folder, shard);
    Json json = Json::parse(text("shards/manifest.json"));
    change(json);
    file(folder + "/manifest.json", json.dump());
  };
  manifest("unfinished-shards", [](Json& json) { json["complete"] = false; });
  manifest("manifest/count", [](Json& json) { json["shards"][0]["tokens"] = int64_t{1} << 62; });
  shards("manifest/broken", shard);
  file("manifest/broken/manifest.json", "{\"shards\": [");
}

void BadInputFolder::make_outputs() const {
  file("foreign/notes.txt", "Not ours.\n");
  file("foreign/config.json", "{\"mine\": true}\n");
  fs::create_symlink("tasks/pair_1/test.jsonl", path() / "to-test.jsonl");
}

}  // namespace convseq::testing
