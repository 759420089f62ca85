#include <gtest/gtest.h>

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
  // A copy, since predict writes its packed weights beside the model. Empty if it is not shipped.
  fs::path copy_of(const std::string& name) const {
    const fs::path model = fs::path(CONVSEQ_SOURCE_DIR) / "models" / name;
    if (!fs::exists(model / "model.safetensors")) return {};
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
    if (model.empty()) GTEST_SKIP() << "models/" << name << " is not here";
    EXPECT_TRUE(fs::exists(model / "README.md")) << name;
    uintmax_t bytes = 0;
    for (const auto& file : fs::directory_iterator(model)) bytes += file.file_size();
    EXPECT_LE(bytes, 10'000'000u) << name;
  }
}

TEST_F(ShippedModels, TheFilterTellsAnInsultFromThanks) {
  const fs::path model = copy_of("toxicity-mini");
  if (model.empty()) GTEST_SKIP() << "models/toxicity-mini is not here";
  const auto answers = predict(model, kInsultAndThanks);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["label"], "toxic");
  EXPECT_EQ(answers[1]["label"], "non-toxic");
  EXPECT_GT(answers[0]["probabilities"]["toxic"], 0.8);
  EXPECT_LT(answers[1]["probabilities"]["toxic"], 0.1);
}

TEST_F(ShippedModels, TheLabelModelNamesAnInsult) {
  const fs::path model = copy_of("toxicity-labels-mini");
  if (model.empty()) GTEST_SKIP() << "models/toxicity-labels-mini is not here";
  const auto answers = predict(model, kInsultAndThanks);
  ASSERT_EQ(answers.size(), 2u);
  const std::vector<std::string> labels = answers[0]["labels"];
  EXPECT_NE(std::find(labels.begin(), labels.end(), "insult"), labels.end());
  EXPECT_EQ(answers[1]["labels"], Json::array());
}

TEST_F(ShippedModels, ThePretrainedModelFillsSpans) {
  const fs::path model = copy_of("convseq-mini");
  if (model.empty()) GTEST_SKIP() << "models/convseq-mini is not here";
  const auto answers = predict(
      model, "The river runs <extra_id_0> the sea, and the town lies on <extra_id_1> banks.\n");
  ASSERT_EQ(answers.size(), 1u);
  const std::string text = answers[0]["text"];
  EXPECT_TRUE(text.starts_with("<extra_id_0> ")) << text;
  EXPECT_NE(text.find("<extra_id_1> "), text.npos) << text;
}

#ifdef CONVSEQ_TRAINS
TEST_F(ShippedModels, FineTuningStartsFromThePretrainedModel) {
  const fs::path model = copy_of("convseq-mini");
  if (model.empty()) GTEST_SKIP() << "models/convseq-mini is not here";
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
