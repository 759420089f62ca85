#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "convseq/eval/bootstrap.h"

namespace convseq {

// What teacher forcing says of some target tokens: of an example, or summed over many.
struct TokenNll {
  double nll = 0;      // the sum of -log p(token)
  int64_t tokens = 0;  // real ones: padding has no part in it
  int64_t right = 0;   // where the token was the likeliest

  TokenNll& operator+=(const TokenNll& other);
  // A token each; NaN where there is none.
  double mean() const { return nll / static_cast<double>(tokens); }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(tokens); }
  double perplexity() const;
};

struct TokenScore {
  TokenNll total = {};
  std::optional<Interval> mean_interval = {};  // of total.mean(), over examples
};

// Examples count by their tokens. One without tokens changes nothing.
TokenScore score_tokens(std::span<const TokenNll> examples, const BootstrapOptions& options);

}  // namespace convseq
