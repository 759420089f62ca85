#include <gtest/gtest.h>
#include <pty.h>

#include <cmath>
#include <set>
#include <sstream>

#include "cli/model_for_prediction.h"
#include "compressed.h"
#include "program.h"

namespace convseq {
using testing::model_for_prediction;
using testing::pooled_model_for_prediction;
using testing::run_convseq;
using testing::run_shell;
using testing::TempFolder;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class PredictCommand : public ::testing::Test {
 protected:
  // Standard output alone; what goes to standard error is in errors_.
  std::string predict(const std::string& arguments, const std::string& model = "",
                      const std::string& program = CONVSEQ_PROGRAM) {
    const std::string folder = model.empty() ? model_.string() : model;
    const auto errors = folder_ / "errors";
    const auto outcome = run_shell(
        fmt::format("({} predict {} {} 2> {})", program, folder, arguments, errors.string()));
    errors_ = read_text_file(errors);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << errors_;
    return outcome.output;
  }

  void expect_refused(const std::string& arguments, const std::string& part,
                      const std::string& model = "") {
    const auto outcome =
        run_convseq("predict " + (model.empty() ? model_.string() : model) + " " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
    EXPECT_EQ(lines_of(outcome.output).size(), 1u) << outcome.output;
  }

  std::string some_lines(int count) const {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      lines += "number " + std::to_string(i * 37 % 101) + std::string(i * 13 % 60, 'x') + "\n";
    }
    return lines;
  }

  TempFolder folder_;
  const std::filesystem::path model_ = model_for_prediction(folder_);
  std::string errors_;
};

}  // namespace

TEST_F(PredictCommand, AnswersEveryLineInOrder) {
  const auto file = folder_.file("a.txt", some_lines(300));
  const auto lines = lines_of(predict(file.string() + " --window 64"));
  ASSERT_EQ(lines.size(), 300u);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Json json = Json::parse(lines[i]);
    EXPECT_EQ(json["row"], i + 1);
    const double yes = json["probabilities"]["yes"], no = json["probabilities"]["no"];
    EXPECT_NEAR(yes + no, 1, 2e-6);
    EXPECT_EQ(json["label"], yes >= no ? "yes" : "no");
    EXPECT_EQ(json["probability"], std::max(yes, no));
  }
  EXPECT_NE(errors_.find("300 rows"), std::string::npos) << errors_;
  EXPECT_EQ(lines_of(predict(file.string() + " --window 1 --batch 1 --threads 1")), lines);
}

TEST_F(PredictCommand, ReadsEveryFormatFromFilesAndStandardInput) {
  const std::string text = folder_.file("a.txt", "one, two\nthree\n").string();
  const std::string csv = folder_.file("a.csv", "id,text\n1,\"one, two\"\n2,three\n").string();
  const std::string tsv = folder_.file("a.tsv", "body\tid\none, two\t1\nthree\t2\n").string();
  const std::string json =
      folder_.file("a.jsonl", "{\"text\": \"one, two\"}\n{\"text\": \"three\"}\n").string();
  const std::string expected = predict(text);
  EXPECT_EQ(lines_of(expected).size(), 2u);
  EXPECT_EQ(predict(csv), expected);
  EXPECT_EQ(predict(tsv + " --column body"), expected);
  EXPECT_EQ(predict(tsv + " --source 'claim: {body}'"), expected);
  EXPECT_EQ(predict(json), expected);
  EXPECT_EQ(predict("< " + text), expected);
  EXPECT_EQ(predict("- < " + json), expected);
  // An empty line tells no format: it is an empty row, whatever follows.
  const std::string after_a_blank = folder_.file("blank.txt", "\n" + read_text_file(json)).string();
  const auto answers = lines_of(predict("--output-format labels < " + after_a_blank));
  const auto same = lines_of(predict("--output-format labels < " + json));
  ASSERT_EQ(answers.size(), same.size() + 1);
  EXPECT_EQ(std::vector(answers.begin() + 1, answers.end()), same);
  EXPECT_EQ(predict("- --input-format csv < " + csv), expected);
}

TEST_F(PredictCommand, WritesJsonTsvOrLabels) {
  const std::string file = folder_.file("a.txt", some_lines(5)).string();
  const auto tsv = lines_of(predict(file + " --output-format tsv"));
  ASSERT_EQ(tsv.size(), 6u);
  EXPECT_EQ(tsv[0], "row\tlabel\tyes\tno\ttokens_cut\terror");
  EXPECT_EQ(tsv[5].find("5\t"), 0u);
  const auto labels = lines_of(predict(file + " --output-format labels"));
  ASSERT_EQ(labels.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(labels[i] == "yes" || labels[i] == "no");
    EXPECT_EQ(tsv[i + 1].find(fmt::format("{}\t{}\t", i + 1, labels[i])), 0u);
  }
  const std::string out = (folder_ / "out.jsonl").string();
  EXPECT_EQ(predict(file + " --out " + out), "");
  EXPECT_EQ(read_text_file(out), predict(file));
  EXPECT_EQ(Json::parse(lines_of(predict(file + " --top 1"))[0])["probabilities"].size(), 1u);
}

TEST_F(PredictCommand, ShardsMakeUpTheWhole) {
  const std::string file = folder_.file("a.txt", some_lines(50)).string();
  const auto whole = lines_of(predict(file));
  std::vector<std::string> joined(whole.size());
  for (int shard = 1; shard <= 3; ++shard) {
    for (const auto& line : lines_of(predict(fmt::format("{} --shard {}/3", file, shard)))) {
      joined[Json::parse(line)["row"].get<size_t>() - 1] = line;
    }
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(PredictCommand, GivesBadRowsAnErrorInTheirPlace) {
  const std::string nul("a\0b", 3);
  const std::vector<std::pair<std::string, bool>> rows = {
      {"good", true},
      {"", false},
      {"\xFF\xFEnot text", false},
      {std::string(1 << 20, 'w'), true},
      {nul, true},
      {"😀👩‍👩‍👧 🏳️‍🌈", true},
      {"שלום עולם مرحبا", true},
      {"   ", false},
      {"\xED\xA0\x80", false},  // half a surrogate pair
      {std::string(17 << 20, 'x'), false},
      {"\xE2\x80\xAE right to left", true},
      {"last", true}};
  std::string bytes;
  for (const auto& [text, good] : rows) bytes += text + "\n";
  const auto lines = lines_of(predict(folder_.file("a.txt", bytes).string()));
  ASSERT_EQ(lines.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json json = Json::parse(lines[i]);
    EXPECT_EQ(json["row"], i + 1);
    EXPECT_EQ(json.contains("label"), rows[i].second) << lines[i];
    EXPECT_EQ(json.contains("error"), !rows[i].second) << lines[i];
  }
  EXPECT_GT(Json::parse(lines[3])["tokens_cut"], 1000);
  EXPECT_NE(errors_.find("12 rows, 1 cut, 5 with errors, the first: "), std::string::npos)
      << errors_;
}

TEST_F(PredictCommand, AStreamThatEndsTooEarlyEndsInAnError) {
  const std::string gz = testing::gzip(some_lines(3000));
  const auto file = folder_.file("a.txt.gz", gz.substr(0, gz.size() / 2));
  const auto lines = lines_of(predict(file.string() + " --window 100"));
  ASSERT_GT(lines.size(), 1000u);
  EXPECT_FALSE(Json::parse(lines[lines.size() - 2]).contains("error"));
  const std::string error = Json::parse(lines.back()).value("error", "");
  EXPECT_NE(error.find("ends too early; nothing after it can be read"), error.npos) << error;
  EXPECT_NE(errors_.find("1 with errors"), errors_.npos) << errors_;
}

TEST_F(PredictCommand, AnswersNothingToNothing) {
  for (const char* name : {"a.txt", "a.csv", "a.jsonl"}) {
    EXPECT_EQ(predict(folder_.file(name, "").string()), "") << name;
    EXPECT_NE(errors_.find("0 rows"), errors_.npos) << errors_;
  }
  EXPECT_EQ(predict("- < /dev/null"), "");
}

TEST_F(PredictCommand, BytesThatAreNoTextNeverCrashIt) {
  std::string bytes;
  uint64_t state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes += static_cast<char>(state >> 56);
  }
  for (const char* name : {"a.txt", "a.jsonl", "a.csv", "a.tsv"}) {
    const auto file = folder_.file(name, "text\n" + bytes);
    const auto outcome = run_convseq("predict " + model_.string() + " " + file.string());
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2) << name << outcome.exit_code;
  }
}

TEST_F(PredictCommand, EndsQuietlyWhereItsPipeIsClosed) {
  const std::string file = folder_.file("a.txt", some_lines(20'000)).string();
  const auto outcome = run_shell(
      fmt::format("bash -c '{} predict {} {} --quiet --window 16 --output-format tsv | head -n 2 > "
                  "/dev/null; echo ${{PIPESTATUS[0]}}'",
                  CONVSEQ_PROGRAM, model_.string(), file));
  EXPECT_EQ(outcome.output, "141\n");  // SIGPIPE, as other tools end
}

TEST_F(PredictCommand, AThresholdMovesTheDecision) {
  const std::string file = folder_.file("a.txt", some_lines(20)).string();
  const auto labels = [&](const std::string& flags) {
    const auto lines = lines_of(predict(file + " --output-format labels " + flags));
    return std::set<std::string>(lines.begin(), lines.end());
  };
  EXPECT_EQ(labels("--threshold 0"), std::set<std::string>{"yes"});
  EXPECT_EQ(labels("--threshold 1"), std::set<std::string>{"no"});
  EXPECT_EQ(labels("--threshold no=0"), std::set<std::string>{"no"});
  expect_refused(file + " --threshold 1.5", "--threshold");
  expect_refused(file + " --threshold maybe=0.5", "maybe");
  const std::string plain =
      model_for_prediction(folder_, "plain", {{"positive_label", nullptr}}).string();
  expect_refused(file + " --threshold 0.5", "LABEL=0.5", plain);
}

TEST_F(PredictCommand, TakesThresholdsOfLabelsWithCommas) {
  const std::string model =
      model_for_prediction(folder_, "commas",
                           {{"labels", {"yes, it is", "no"}}, {"positive_label", "yes, it is"}})
          .string();
  const std::string file =
      folder_.file("a.txt", some_lines(5)).string() + " --output-format labels";
  EXPECT_EQ(lines_of(predict(file + " --threshold 'yes, it is=0'", model))[4], "yes, it is");
  EXPECT_EQ(lines_of(predict(file + " --threshold 'yes, it is=1'", model))[4], "no");
  expect_refused(file + " --threshold 'yes, it'", "--threshold: yes, it", model);
}

TEST_F(PredictCommand, WritesTextWhereThereAreNoLabels) {
  const std::string model =
      model_for_prediction(folder_, "text", {{"labels", nullptr}, {"positive_label", nullptr}})
          .string();
  const std::string file = folder_.file("a.txt", some_lines(9)).string();
  const auto lines = lines_of(predict(file, model));
  ASSERT_EQ(lines.size(), 9u);
  for (const std::string& line : lines) EXPECT_TRUE(Json::parse(line)["text"].is_string()) << line;
  expect_refused(file + " --threshold 0.5", "--threshold", model);
}

TEST_F(PredictCommand, ConvseqLiteWritesTheSameBytes) {
  const std::string file = folder_.file("a.txt", some_lines(40) + "\n\xFF\n").string();
  const std::string text =
      model_for_prediction(folder_, "text", {{"labels", nullptr}, {"positive_label", nullptr}})
          .string();
  const std::string head = pooled_model_for_prediction(folder_, "head").string();
  for (const std::string& model : {model_.string(), text, head}) {
    for (const char* flags : {" --device cpu", " --device cpu --precision int8"}) {
      EXPECT_EQ(predict(file + flags, model, CONVSEQ_LITE), predict(file + flags, model)) << model;
    }
  }
}

TEST_F(PredictCommand, AModelWithoutATaskReadsTheTextAsItIs) {
  std::filesystem::remove(model_ / "task.json");
  EXPECT_EQ(lines_of(predict(folder_.file("a.txt", "one\ntwo\n").string())).size(), 2u);
}

TEST_F(PredictCommand, OnlyAModelThatWasNeverFineTunedReadsSentinels) {
  const auto file = folder_.file("a.txt", "<extra_id_0><extra_id_1><extra_id_99>\n");
  const auto answer = [&] {
    return Json::parse(lines_of(predict(file.string() + " --max-source-tokens 8")).at(0));
  };
  EXPECT_TRUE(answer().contains("tokens_cut")) << "they are spelt in many pieces";
  std::filesystem::remove(model_ / "task.json");
  EXPECT_FALSE(answer().contains("tokens_cut")) << "three sentinels and the EOS";
}

TEST_F(PredictCommand, AModelThatWasNeverFineTunedAnswersWithTheTextFilled) {
  std::filesystem::remove(model_ / "task.json");
  const std::string file =
      folder_.file("a.txt", "one <extra_id_5> two <extra_id_9>\none two\n").string();
  const auto lines = lines_of(predict(file + " --answer greedy --max-target-tokens 12"));
  const Json filled = Json::parse(lines.at(0)), plain = Json::parse(lines.at(1));
  EXPECT_TRUE(std::string(filled["filled"]).starts_with("one")) << filled;
  EXPECT_EQ(std::string(filled["text"]).find("<extra_id_0>"), std::string::npos) << filled;
  EXPECT_FALSE(plain.contains("filled"));
  const std::string tsv = " --answer greedy --max-target-tokens 12 --output-format tsv";
  EXPECT_EQ(lines_of(predict(file + tsv)).at(0), "row\ttext\tfilled\ttokens_cut\terror");
}

TEST_F(PredictCommand, RefusesWhatCannotBeAnswered) {
  const std::string file = folder_.file("a.txt", "one\n").string();
  const std::string csv = folder_.file("a.csv", "body\none\n").string();
  expect_refused(file, "no such model folder", "/nowhere");
  expect_refused("/nowhere/a.txt", "/nowhere/a.txt");
  expect_refused(csv, "has no column text; it has: body");
  expect_refused(file + " --shard 4/3", "--shard: 4; allowed: 1 to 3");
  expect_refused(file + " --shard 3", "--shard: 3");
  expect_refused(file + " --out " + file, "is read by this command");
  expect_refused(file + " --source 'no field'", "no field");
  expect_refused(file + " --source '{a} {b}' --input-format lines", "has 2 fields");
  expect_refused(file + " --column a --source '{a}'", "--column");
  const auto model = model_for_prediction(folder_, "no-tokenizer");
  std::filesystem::remove(model / "spiece.model");
  expect_refused(file, "no-tokenizer", model.string());
}

class GpuPredictCommand : public PredictCommand {};

TEST_F(GpuPredictCommand, AnswersAsOnACpu) {
  const std::string file = folder_.file("a.txt", some_lines(300) + "\n\xFF\n").string();
  for (const auto& model : {model_, pooled_model_for_prediction(folder_, "head")}) {
    const auto cpu = lines_of(predict(file + " --device cpu", model.string()));
    const auto gpu = lines_of(predict(file + " --device cuda", model.string()));
    ASSERT_EQ(gpu.size(), cpu.size());
    for (size_t i = 0; i < cpu.size(); ++i) {
      const Json expected = Json::parse(cpu[i]), found = Json::parse(gpu[i]);
      if (expected.contains("error")) {
        EXPECT_EQ(found, expected);
        continue;
      }
      const double yes = expected["probabilities"]["yes"];
      EXPECT_NEAR(found["probabilities"]["yes"], yes, 1e-3) << i;
      if (std::abs(yes - 0.5) > 1e-3) {
        EXPECT_EQ(found["label"], expected["label"]) << i;
      }
    }
  }
}

TEST_F(GpuPredictCommand, WritesTheTextThatItWritesOnACpu) {
  const std::string file = folder_.file("a.txt", some_lines(300)).string();
  const std::string model =
      model_for_prediction(folder_, "text", {{"labels", nullptr}, {"positive_label", nullptr}})
          .string();
  const auto cpu = lines_of(predict(file + " --device cpu", model));
  const auto gpu = lines_of(predict(file + " --device cuda", model));
  ASSERT_EQ(gpu.size(), cpu.size());
  size_t same = 0;
  for (size_t i = 0; i < cpu.size(); ++i) same += cpu[i] == gpu[i] ? 1 : 0;
  EXPECT_GE(same, cpu.size() * 99 / 100);  // rounding decides a near tie
}

TEST_F(PredictCommand, AsksForLinesOnATerminal) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl(CONVSEQ_PROGRAM, CONVSEQ_PROGRAM, "predict", model_.c_str(), "--output-format",
            "labels", "--quiet", nullptr);
    ::_exit(127);
  }
  std::string seen;
  const auto read_until = [&](const std::string& end) {
    char buffer[256];
    while (!seen.ends_with(end)) {
      const ssize_t got = ::read(terminal, buffer, sizeof buffer);
      if (got <= 0) return false;
      seen.append(buffer, static_cast<size_t>(got));
    }
    return true;
  };
  for (const std::string line : {"hi\n", "and a longer line\n", "\n"}) {
    ASSERT_TRUE(read_until("> ")) << seen;
    ASSERT_EQ(::write(terminal, line.data(), line.size()), std::ssize(line));
    seen.clear();
  }
  ASSERT_TRUE(read_until("> ")) << seen;
  ASSERT_EQ(::write(terminal, "\x04", 1), 1);  // the end of the input
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << seen;
  ::close(terminal);
}

}  // namespace convseq
