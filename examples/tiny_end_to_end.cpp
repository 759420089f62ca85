// A tiny model of each family, end to end: built from its preset, trained by heart on a few random
// pairs, saved, loaded, and asked for the answers token by token.
#include <torch/nn/functional.h>
#include <torch/nn/utils.h>
#include <torch/optim.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>

#include "convseq/model/checkpoint.h"
#include "convseq/spec/presets.h"

namespace {

using namespace convseq;
namespace fs = std::filesystem;

constexpr int64_t kPairs = 16, kSourceLength = 12, kTargetLength = 6, kSteps = 120;

struct Pairs {
  torch::Tensor source;         // [B,S]
  nn::Lengths source_lengths;   // sources of different lengths, so that masks matter
  torch::Tensor target;         // [B,T]
  torch::Tensor decoder_input;  // the start token, then the target without its end
};

Pairs random_pairs(const ModelConfig& config) {
  torch::manual_seed(1);
  Pairs pairs;
  pairs.source = torch::randint(2, config.vocab_size, {kPairs, kSourceLength}, torch::kInt64);
  pairs.source_lengths = {torch::randint(4, kSourceLength + 1, {kPairs}, torch::kInt64)};
  pairs.target = torch::randint(2, config.vocab_size, {kPairs, kTargetLength}, torch::kInt64);
  pairs.decoder_input = decoder_inputs(config, pairs.target);
  return pairs;
}

torch::Tensor loss_of(Seq2Seq& model, const Pairs& pairs) {
  const auto logits = model.forward(pairs.source, pairs.source_lengths, pairs.decoder_input);
  return torch::nn::functional::cross_entropy(logits.flatten(0, 1), pairs.target.flatten());
}

void train(Seq2Seq& model, const Pairs& pairs) {
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(3e-3));
  for (int64_t step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    loss_of(model, pairs).backward();
    torch::nn::utils::clip_grad_norm_(model.parameters(), 1.0);
    optimizer.step();
  }
}

// Greedy, one token at a time, each step seeing only the state and the last token.
torch::Tensor answer(Seq2Seq& model, const Pairs& pairs) {
  const torch::NoGradGuard no_grad;
  DecodeState state =
      model.start(model.encode(pairs.source, pairs.source_lengths), pairs.source_lengths);
  auto token = pairs.decoder_input.narrow(1, 0, 1);
  std::vector<torch::Tensor> tokens;
  for (int64_t position = 0; position < kTargetLength; ++position) {
    token = model.step(token, state).argmax(-1);
    tokens.push_back(token);
  }
  return torch::cat(tokens, 1);
}

void run(const std::string& family, const fs::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  const ModelConfig config = find_model_config(family + "-tiny", {"vocab_size=128"});
  const Pairs pairs = random_pairs(config);
  auto model = std::make_shared<Seq2Seq>(config);
  model->initialise(1);
  const double before = loss_of(*model, pairs).item<double>();
  train(*model, pairs);
  const double after = loss_of(*model, pairs).item<double>();
  save_model(folder / family, *model);
  model = load_model(folder / family);
  const auto right = (answer(*model, pairs) == pairs.target).all(1).sum().item<int64_t>();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{:<18} {:>10} {:>12.3f} {:>11.4f} {:>8}/{} {:>8.1f}s\n", family,
             model->parameter_count(), before, after, right, kPairs, seconds.count());
}

}  // namespace

int main() {
  torch::set_num_threads(1);  // tensors this small only wait for more
  const fs::path folder = "build/demo";
  fs::create_directories(folder);
  fmt::print("{} random pairs learned by heart in {} steps, then decoded from the saved model\n\n",
             kPairs, kSteps);
  fmt::print("{:<18} {:>10} {:>12} {:>11} {:>11} {:>8}\n", "model", "parameters", "loss before",
             "loss after", "answers", "time");
  for (const char* family :
       {"paper-transformer", "paper-depthwise", "paper-light", "paper-dynamic", "paper-dilated"}) {
    run(family, folder);
  }
  fmt::print("\nModel folders are in {}; look at one with: build/convseq inspect {}/paper-light\n",
             folder.string(), folder.string());
}
