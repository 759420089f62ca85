#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
using testing::run_convseq;
using testing::run_shell;
using testing::TempFolder;

namespace {

std::set<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

bool installed(const std::string& program) {
  return run_shell("command -v " + program).exit_code == 0;
}

// Every command that has no commands below it, and what its help shows: the manual must say it too.
const std::vector<std::string> kCommands = {"pretrain",
                                            "finetune",
                                            "evaluate",
                                            "predict",
                                            "tokenizer train",
                                            "tokenizer encode",
                                            "tokenizer decode",
                                            "tokenize",
                                            "task",
                                            "inspect",
                                            "convert",
                                            "synth corpus",
                                            "synth tasks",
                                            "bench ops",
                                            "bench step",
                                            "bench finetune",
                                            "bench length",
                                            "bench decode",
                                            "version",
                                            "completion",
                                            "man",
                                            "help"};

std::set<std::string> options_of(const std::string& command) {
  std::set<std::string> options;
  for (std::string word : words_of(run_convseq(command + " --help").output)) {
    while (!word.empty() && (word.back() == ',' || word.back() == ')')) word.pop_back();
    if (word.starts_with("--") && word.size() > 2 &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == word.npos) {
      options.insert(word);
    }
  }
  return options;
}

class BashCompletion : public ::testing::Test {
 protected:
  // What a press of Tab offers after these words; the last may be begun.
  std::set<std::string> complete(const std::string& words) const {
    const std::string script = run_convseq("completion bash").output + "COMP_WORDS=(convseq " +
                               words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _convseq; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    const auto outcome = run_shell("bash " + folder.file("complete.sh", script).string());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return words_of(outcome.output);
  }

  TempFolder folder;
};

using Words = std::set<std::string>;

}  // namespace

TEST_F(BashCompletion, CompletesCommands) {
  EXPECT_TRUE(complete("''").contains("pretrain"));
  EXPECT_EQ(complete("tok"), (Words{"tokenizer", "tokenize"}));
  EXPECT_EQ(complete("bench ''"), (Words{"ops", "step", "finetune", "length", "decode", "cpu"}));
  EXPECT_EQ(complete("synth cor"), (Words{"corpus"}));
}

TEST_F(BashCompletion, CompletesOptions) {
  EXPECT_EQ(complete("bench ops --de"), (Words{"--device"}));
  EXPECT_EQ(complete("synth corpus out --val"), (Words{"--validation-documents"}));
  EXPECT_TRUE(complete("pretrain -").contains("--optimizer"));
}

TEST_F(BashCompletion, CompletesChoices) {
  EXPECT_EQ(complete("bench ops --device c"), (Words{"cpu", "cuda"}));
  EXPECT_EQ(complete("bench ops --device = cu"), (Words{"cuda"}));
  EXPECT_EQ(complete("synth tasks out --family pair,sp"), (Words{"pair,span"}));
  EXPECT_EQ(complete("completion z"), (Words{"zsh"}));
}

TEST_F(BashCompletion, CompletesFilesWhereTheyAreMeant) {
  const std::string file = folder.file("some_model.json", "{}").string();
  const std::string begun = file.substr(0, file.size() - 6);
  EXPECT_EQ(complete("inspect " + begun), (Words{file}));
  EXPECT_EQ(complete("pretrain out --corpus " + begun), (Words{file}));
  EXPECT_EQ(complete("synth corpus out --documents " + begun), Words{});
}

TEST(Completion, IsValidInEveryShellThatIsInstalled) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = run_convseq(std::string("completion ") + shell);
    EXPECT_EQ(script.exit_code, 0);
    EXPECT_NE(script.output.find("convseq"), std::string::npos);
    for (const char* word : {"pretrain", "device", "cuda", "long_range"}) {
      EXPECT_NE(script.output.find(word), std::string::npos) << shell << ": " << word;
    }
    if (!installed(shell)) continue;
    TempFolder folder;
    const auto checked =
        run_shell(std::string(shell) + " -n " + folder.file("script", script.output).string());
    EXPECT_EQ(checked.exit_code, 0) << checked.output;
  }
  EXPECT_EQ(run_convseq("completion csh").output,
            "convseq: SHELL: csh; allowed: bash, zsh, fish\n");
}

TEST(Completion, KnowsEveryCommandAndOption) {
  const std::string script = run_convseq("completion bash").output;
  for (const std::string& command : kCommands) {
    EXPECT_NE(script.find("'" + command + "')"), std::string::npos) << command;
    const size_t line = script.find("'" + command + "') if");
    const Words words = words_of(script.substr(line, script.find(";;", line) - line));
    for (const std::string& option : options_of(command)) {
      EXPECT_NE(script.substr(line, script.find(";;", line) - line).find(option), std::string::npos)
          << command << " " << option;
    }
  }
}

TEST(Manual, HasEveryCommandAndOption) {
  std::string page = run_convseq("man").output;
  EXPECT_EQ(page.find(".\\\""), 0u);
  for (size_t at = page.find("\\-"); at != page.npos; at = page.find("\\-", at)) page.erase(at, 1);
  for (const std::string& command : kCommands) {
    const std::string heading = ".SS convseq " + command + "\n";
    const size_t begin = page.find(heading);
    ASSERT_NE(begin, page.npos) << command;
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    for (const std::string& option : options_of(command)) {
      EXPECT_NE(section.find(option), std::string::npos) << command << " " << option;
    }
  }
}

TEST(Manual, IsCleanTroff) {
  TempFolder folder;
  const std::string page = folder.file("convseq.1", run_convseq("man").output).string();
  for (const char* heading : {".TH CONVSEQ 1", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION",
                              ".SH COMMANDS", ".SH EXIT STATUS"}) {
    EXPECT_NE(("\n" + read_text_file(page)).find(std::string("\n") + heading), std::string::npos)
        << heading;
  }
  if (installed("man")) {
    const auto shown = run_shell("LC_ALL=C.UTF-8 man --warnings -l " + page + " > /dev/null");
    EXPECT_EQ(shown.exit_code, 0);
    EXPECT_EQ(shown.output, "");
  }
  if (installed("mandoc")) {
    const auto checked = run_shell("mandoc -T lint -W error " + page);
    EXPECT_EQ(checked.output, "");
  }
}

}  // namespace convseq
