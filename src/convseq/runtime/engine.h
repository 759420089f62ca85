#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "convseq/eval/token_nll.h"
#include "convseq/spec/model_config.h"

namespace convseq {

using TokenIds = std::vector<int32_t>;  // as the tokenizer gives and takes them

// How a decoding step chooses the token of each row. The engine chooses on its own device, so that
// no logits are copied to the host.
struct Select {
  std::span<const int32_t> given = {};  // one token per row; empty: the likeliest one (greedy)
};

// The tokens of one decoding step, with one entry per row.
struct ChosenTokens {
  std::vector<int32_t> ids;
  std::vector<float> log_probabilities;  // log p(token | source, the tokens before it)
};

// How an engine decodes with the least overhead.
struct DecodePace {
  int64_t steps_between_reads = 1;  // a read waits for the device
  // Ended rows are removed where at most this share of the rows is open.
  double compact_below = 1;
};

using ClassScores = std::vector<std::vector<double>>;  // [row][class]

// A trained model as answering sees it: encoder, decoder and classification head on some device.
// Ids that are passed in must be in the model's vocabulary. A row's results do not depend on the
// other rows.
class Engine {
 public:
  // The encoder's output for a batch of sources.
  struct Encoded {
    virtual ~Encoded() = default;
  };
  // A batch of target sequences that are being decoded.
  struct Decoding {
    virtual ~Decoding() = default;
  };

  virtual ~Engine() = default;
  virtual const ModelConfig& config() const = 0;
  virtual DecodePace pace() const { return {}; }

  // Sources end with their EOS; the engine pads them.
  virtual std::unique_ptr<Encoded> encode(const std::vector<TokenIds>& sources) = 0;

  // Decoding of at most `max_tokens` steps, one target per source. It does not need `encoded` any
  // longer.
  virtual std::unique_ptr<Decoding> start(const Encoded& encoded, int64_t max_tokens) = 0;
  // Queues one step. A row continues with its chosen token; after an EOS it emits padding.
  virtual void step(Decoding& decoding, const Select& select) = 0;
  // Waits for the steps that were not read yet and returns their tokens, oldest first.
  virtual std::vector<ChosenTokens> read(Decoding& decoding) = 0;
  // Row i becomes the former row rows[i]. All steps must have been read.
  virtual void reorder(Decoding& decoding, std::span<const int64_t> rows) = 0;

  // The log-probability of each target for each source, the sum over its tokens: [B][K]. Targets
  // end with their EOS.
  virtual ClassScores score(const Encoded& encoded, const std::vector<TokenIds>& targets) = 0;
  // Teacher forcing: the likelihood of one target per source, over its tokens.
  virtual std::vector<TokenNll> token_nll(const Encoded& encoded,
                                          const std::vector<TokenIds>& targets) = 0;
  // The logits of the classification head on the mean of the encoder's output: [B][classes].
  virtual ClassScores classify(const Encoded& encoded) = 0;
};

}  // namespace convseq
