// A model from its preset, and the logits of a padded batch.
#include <torch/types.h>

#include <cstdio>

#include "convseq/model/seq2seq.h"
#include "convseq/spec/presets.h"

int main() {
  const auto config = convseq::find_model_config("paper-dynamic-tiny", {"vocab_size=128"});
  convseq::Seq2Seq model(config);
  model.initialise(/*seed=*/1);
  const auto source = torch::randint(2, config.vocab_size, {2, 9}, torch::kInt64);  // [B,S]
  const auto lengths = torch::tensor({9, 5}, torch::kInt64);                        // [B]
  const auto decoder_input = torch::zeros({2, 4}, torch::kInt64);                   // [B,T]
  const auto logits = model.forward(source, {lengths}, decoder_input);              // [B,T,V]
  std::printf("%ld x %ld x %ld logits\n", logits.size(0), logits.size(1), logits.size(2));
}
