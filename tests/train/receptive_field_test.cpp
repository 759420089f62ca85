// What a convolution with a pooled head cannot see, by construction, and attention can.
#include <cmath>
#include <sstream>

#include "convseq/data/synth/suite.h"
#include "convseq/spec/flops.h"
#include "convseq/spec/presets.h"
#include "convseq/text/tokenizer_trainer.h"
#include "convseq/train/finetune.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
namespace {

// The labels of `long_range_N` are an XOR: do two words, N words apart, have the same polarity?
class PooledXor : public ::testing::Test {
 protected:
  static constexpr int64_t kDistance = 16;
  static constexpr int64_t kTestExamples = 1000;

  void SetUp() override {
    synth::write_suite(folder_ / "tasks",
                       {.families = {synth::Family::LongRange},
                        .sizes = {.train = 2000, .validation = 200, .test = kTestExamples},
                        .distances = {kDistance},
                        .cue_words = 2});
    const auto task = folder_ / fmt::format("tasks/long_range_{}", kDistance);
    task_ = find_task((task / "task.json").string());
    std::istringstream rows(read_text_file(task / "train.jsonl"));
    std::vector<std::string> texts;
    for (std::string row; std::getline(rows, row);) texts.push_back(parse_json(row)["text"]);
    folder_.file("spiece.model",
                 train_tokenizer(texts, {.kind = TokenizerKind::Bpe, .pieces = 500}));
  }

  ModelConfig light(const std::string& attention_layers) const {
    const int64_t vocabulary = Tokenizer::load(folder_ / "spiece.model").vocabulary().size();
    return find_model_config("paper-light-tiny",
                             {fmt::format("vocab_size={}", vocabulary), "d_model=32", "d_ff=64",
                              "d_kv=16", "encoder_attention_layers=" + attention_layers});
  }

  // On the test split, of a pooled head that was trained from scratch.
  double accuracy(const ModelConfig& model, uint64_t seed) const {
    FinetuneOptions options;
    options.in_memory = true;
    options.task = task_;
    options.tokenizer = folder_ / "spiece.model";
    options.model = model;
    options.form = AnswerForm::Pooled;
    options.limits.steps = 500;
    options.validate_every = 100;
    options.seed = seed;
    options.progress = false;
    options.evaluate = {"test"};
    return finetune(options).reports.at("test").scores[0].value;
  }

  testing::TempFolder folder_;
  Task task_;
};

// No position sees both words, so the head's score is a sum of one term per word, and of the four
// texts of a group at most three are right, and as often one: three standard deviations around 0.5.
TEST_F(PooledXor, AConvolutionBeyondItsReceptiveFieldIsAtChance) {
  const ModelConfig model = light("[]");
  ASSERT_LT(*receptive_field(model, Side::Encoder), kDistance);
  EXPECT_NEAR(accuracy(model, 1), 0.5, 3 * 0.25 / std::sqrt(kTestExamples / 4.0));
}

// Seeds 2 to 6 reach 0.998 to 1.
TEST_F(PooledXor, OneAttentionLayerInTheEncoderMendsIt) {
  EXPECT_GE(accuracy(light("[1]"), 1), 0.9);
}

}  // namespace
}  // namespace convseq
