#pragma once

#include "convseq/eval/token_nll.h"
#include "convseq/infer/padded_ids.h"
#include "convseq/model/seq2seq.h"

namespace convseq {

// Teacher forcing without training: the likelihood of each row over its real targets (EOS
// included).
std::vector<TokenNll> target_nlls(Seq2Seq& model, const PaddedIds& source, const PaddedIds& target);

}  // namespace convseq
