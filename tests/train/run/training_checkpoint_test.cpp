#include "convseq/train/run/training_checkpoint.h"

#include "convseq/spec/presets.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

const char* const kNorm = "encoder.norm.bias";

class PoisonedCheckpoint : public ::testing::Test {
 protected:
  // Saves a checkpoint with correct checksums.
  void save(int64_t step, const char* poisoned_weight, bool poisons_optimizer) const {
    TrainingState state{.step = step, .cursor = nullptr};
    ModelFolder folder{.config = config_, .weights = {}, .extras = {}};
    Seq2Seq model(config_);
    model.initialise(1);
    for (const auto& [name, tensor] : parameters_of(model)) {
      folder.weights[name] = tensor.detach().clone();
      if (name == poisoned_weight) folder.weights[name][0] = std::nan("");
    }
    state.optimizer["mean"] = torch::full({3}, poisons_optimizer ? HUGE_VAL : 1.0);
    checkpoints_.save(state, folder);
  }

  TempFolder folder_;
  ModelConfig config_ = find_model_config(
      "paper-light-tiny",
      {"vocab_size=50", "d_model=8", "d_ff=8", "conv_heads=2", "heads=1", "d_kv=8"});
  Checkpoints checkpoints_{folder_ / "run", /*keep=*/5};
};

}  // namespace

TEST_F(PoisonedCheckpoint, IsLeftOutForTheOneBeforeIt) {
  save(1, "", false);
  save(2, kNorm, false);
  save(3, "", true);
  EXPECT_EQ(checkpoints_.load_latest(config_)->step, 1);
}

TEST_F(PoisonedCheckpoint, AloneIsRefused) {
  save(2, kNorm, false);
  EXPECT_THROW(checkpoints_.load_latest(config_), Error);
}

// Hugging Face's trainer writes folders of the same names.
TEST_F(PoisonedCheckpoint, OfAnotherProgramIsNeverRemoved) {
  const auto theirs = folder_ / "run" / "checkpoint-500";
  std::filesystem::create_directories(theirs);
  folder_.file("run/checkpoint-500/optimizer.pt", "x");
  for (int64_t step = 1; step < 8; ++step) save(step, "", false);
  checkpoints_.remove_all();
  EXPECT_TRUE(std::filesystem::exists(theirs / "optimizer.pt"));
  EXPECT_EQ(checkpoints_.count(), 1);
}

TEST(TrainingState, IsReadBackWhereTheBestValidationIsNoNumber) {
  const TrainingState state{.step = 1, .best_validation = std::nan(""), .cursor = nullptr};
  const TrainingState found = training_state_from({to_json(state), "state"});
  EXPECT_EQ(found.step, 1);
  EXPECT_FALSE(found.best_validation);
}

}  // namespace convseq
