#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "convseq/eval/bootstrap.h"

namespace convseq {

// Likelihood of target tokens under teacher forcing, of one example or summed over several.
struct TokenNll {
  double nll = 0;      // the sum of -log p(token)
  int64_t tokens = 0;  // without padding
  int64_t right = 0;   // tokens that were the most likely ones

  TokenNll& operator+=(const TokenNll& other);
  // Per token; NaN without tokens.
  double mean() const { return nll / static_cast<double>(tokens); }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(tokens); }
  double perplexity() const;
};

struct TokenScore {
  TokenNll total = {};
  std::optional<Interval> mean_interval = {};  // of total.mean(), over examples
};

// Examples are weighted by their tokens.
TokenScore score_tokens(std::span<const TokenNll> examples, const BootstrapOptions& options);

}  // namespace convseq
