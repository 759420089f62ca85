#include "convseq/eval/token_nll.h"

#include <cmath>

#include "convseq/base/error.h"

namespace convseq {

TokenNll& TokenNll::operator+=(const TokenNll& other) {
  nll += other.nll;
  tokens += other.tokens;
  right += other.right;
  return *this;
}

double TokenNll::perplexity() const { return std::exp(mean()); }

TokenScore score_tokens(std::span<const TokenNll> examples, const BootstrapOptions& options) {
  std::vector<TokenNll> real;
  TokenScore score;
  for (const TokenNll& example : examples) {
    if (example.tokens == 0) continue;
    real.push_back(example);
    score.total += example;
  }
  require(!real.empty(), "there are no target tokens to score");
  if (options.resamples == 0) return score;
  const Statistic mean = [&](Sample sample) {
    TokenNll total;
    for (uint32_t example : sample) total += real[example];
    return total.mean();
  };
  score.mean_interval = bootstrap_intervals({mean}, real.size(), options).front();
  return score;
}

}  // namespace convseq
