#include "convseq/infer/target_nll.h"

#include <torch/types.h>

#include "convseq/infer/inference_scope.h"
#include "convseq/infer/token_likelihood.h"

namespace convseq {

std::vector<TokenNll> target_nlls(Seq2Seq& model, const PaddedIds& source,
                                  const PaddedIds& target) {
  const InferenceScope scope(model);
  const auto encoded = model.encode(source.ids, source.lengths);
  const auto decoded =
      model.decode(decoder_inputs(model.config(), target.ids), encoded, source.lengths);
  const auto real = target.real();
  const auto likelihood = token_likelihood(model, decoded.index({real}), target.ids.index({real}));
  const auto log = row_sums(likelihood.log.to(torch::kFloat64), real).cpu();
  const auto right = row_sums(likelihood.right.to(torch::kInt64), real).cpu();
  const auto tokens = real.sum(1).cpu();
  std::vector<TokenNll> nlls;
  for (int64_t row = 0; row < source.rows(); ++row) {
    nlls.push_back({.nll = -log.data_ptr<double>()[row],
                    .tokens = tokens.data_ptr<int64_t>()[row],
                    .right = right.data_ptr<int64_t>()[row]});
  }
  return nlls;
}

}  // namespace convseq
