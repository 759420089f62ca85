#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::run_convseq;
using testing::TempFolder;

namespace {

constexpr const char* kInsultAndThanks =
    "You are a stupid idiot, shut up.\n"
    "Thank you for the correction, I added the source.\n";

// The models under models/, as a clone has them.
class ShippedModels : public ::testing::Test {
 protected:
  // A copy, since predict writes its packed weights beside the model.
  fs::path copy_of(const std::string& name) const {
    const fs::path model = fs::path(CONVSEQ_SOURCE_DIR) / "models" / name;
    fs::create_directory(folder_ / name);
    for (const auto& file : fs::directory_iterator(model)) {
      if (file.path().extension() == ".bin") continue;  // packed weights
      fs::copy_file(file.path(), folder_ / name / file.path().filename());
    }
    return folder_ / name;
  }

  std::vector<Json> predict(const fs::path& model, const std::string& text) const {
    const auto outcome =
        run_convseq(fmt::format("predict {} {} --device cpu --quiet", model.string(),
                                folder_.file("a.txt", text).string()));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    std::vector<Json> answers;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) answers.push_back(Json::parse(line));
    return answers;
  }

  const TempFolder folder_;
};

}  // namespace

TEST_F(ShippedModels, EachHasACardAndAtMostTenMegabytes) {
  for (const char* name : {"convseq-mini", "toxicity-mini", "toxicity-labels-mini"}) {
    const fs::path model = copy_of(name);
    EXPECT_TRUE(fs::exists(model / "README.md")) << name;
    EXPECT_TRUE(fs::exists(model / "model.safetensors")) << name;
    uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(model)) bytes += file.file_size();
    EXPECT_LE(bytes, 10'000'000u) << name;
  }
}

TEST_F(ShippedModels, TheFilterTellsAnInsultFromThanks) {
  const auto answers = predict(copy_of("toxicity-mini"), kInsultAndThanks);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["label"], "toxic");
  EXPECT_EQ(answers[1]["label"], "non-toxic");
  EXPECT_GT(answers[0]["probabilities"]["toxic"], 0.99);
  EXPECT_LT(answers[1]["probabilities"]["toxic"], 0.01);
}

TEST_F(ShippedModels, TheLabelModelCallsAnInsultNeitherThreatNorHate) {
  const auto answers = predict(copy_of("toxicity-labels-mini"), kInsultAndThanks);
  ASSERT_EQ(answers.size(), 2u);
  const std::set<std::string> labels = answers[0]["labels"];
  EXPECT_TRUE(labels.contains("toxic") && labels.contains("insult")) << answers[0];
  EXPECT_FALSE(labels.contains("threat") || labels.contains("identity_hate")) << answers[0];
  EXPECT_EQ(answers[1]["labels"], Json::array());
}

TEST_F(ShippedModels, AThresholdOfOneLabelLeavesThoseOfTheOthers) {
  const fs::path model = copy_of("toxicity-labels-mini");
  const fs::path text = folder_.file("a.txt", "shut up\n");
  const auto labels = [&](const std::string& flags) {
    return run_convseq(fmt::format("predict {} {} --device cpu --quiet --output-format labels {}",
                                   model.string(), text.string(), flags))
        .output;
  };
  EXPECT_NE(labels(""), labels("--threshold 0.5")) << "the model's own thresholds decide";
  EXPECT_EQ(labels(""), labels("--threshold threat=0.9"));
}

TEST_F(ShippedModels, AHeadWithoutATaskKnowsItsLabels) {
  const fs::path model = copy_of("toxicity-labels-mini");
  fs::remove(model / "task.json");
  fs::remove(model / "calibration.json");
  EXPECT_TRUE(predict(model, kInsultAndThanks)[0]["labels"].is_array());
}

TEST_F(ShippedModels, AreNotOverwrittenByWhatTheyAnswer) {
  const fs::path model = copy_of("toxicity-mini");
  const auto outcome = run_convseq(fmt::format(
      "predict {} {} --device cpu --out {}", model.string(),
      folder_.file("a.txt", kInsultAndThanks).string(), (model / "config.json").string()));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("config.json"), std::string::npos) << outcome.output;
}

TEST_F(ShippedModels, AnotherPositiveLabelCanBeFitted) {
  const fs::path table = folder_.file(
      "a.csv", "text,label\nYou are an idiot,toxic\nThanks a lot,non-toxic\nGo away idiot,toxic\n");
  const auto outcome = run_convseq(
      fmt::format("evaluate {} {} --device cpu --fit-threshold f1 --positive-label non-toxic",
                  copy_of("toxicity-mini").string(), table.string()));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("threshold of non-toxic"), std::string::npos) << outcome.output;
}

TEST_F(ShippedModels, OtherColumnNamesLeaveTheLabels) {
  const fs::path table =
      folder_.file("a.csv", "body,kind\nYou are an idiot,toxic\nThanks a lot,non-toxic\n");
  const auto outcome = run_convseq(fmt::format(
      "evaluate {} {} --device cpu --quiet --json --source '{{body}}' --target '{{kind}}'",
      copy_of("toxicity-mini").string(), table.string()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(Json::parse(outcome.output).at("scores").at(0).at("value"), 1.0) << outcome.output;
}

TEST_F(ShippedModels, ThePretrainedModelFillsSpans) {
  const auto answers =
      predict(copy_of("convseq-mini"),
              "The river runs <extra_id_0> the sea, and the town lies on <extra_id_1> banks.\n");
  ASSERT_EQ(answers.size(), 1u);
  const std::string text = answers[0]["text"], filled = answers[0]["filled"];
  EXPECT_TRUE(text.starts_with("<extra_id_0> ")) << text;
  EXPECT_NE(text.find("<extra_id_1> "), text.npos) << text;
  EXPECT_EQ(text.find("<extra_id_2>"), text.npos) << text;
  EXPECT_TRUE(filled.starts_with("The river runs ") && filled.ends_with(" banks.")) << filled;
  EXPECT_EQ(filled.find("<extra_id"), filled.npos) << filled;
}

TEST_F(ShippedModels, PackedWeightsAreNoPartOfTheRepository) {
  const auto files =
      testing::run_shell("git -C " CONVSEQ_SOURCE_DIR " ls-files models/ 2> /dev/null");
  if (files.exit_code != 0) GTEST_SKIP() << "no git repository";
  EXPECT_EQ(files.output.find("packed-"), std::string::npos) << files.output;
}

#ifdef CONVSEQ_TRAINS
TEST_F(ShippedModels, FineTuningStartsFromThePretrainedModel) {
  const fs::path model = copy_of("convseq-mini");
  const auto table =
      folder_.file("a.csv", "text,label\nfine,good\npoor,bad\nnice,good\nawful,bad\n");
  const auto outcome = run_convseq(fmt::format(
      "finetune {} --train {} --source '{{text}}' --target '{{label}}' --labels good,bad --from {} "
      "--answer pooled --steps 2 --batch 2 --held-out 0 --device cpu --quiet",
      (folder_ / "tuned").string(), table.string(), model.string()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto answers = predict(folder_ / "tuned", "fine\n");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0]["label"] == "good" || answers[0]["label"] == "bad");
}
#endif

}  // namespace convseq
