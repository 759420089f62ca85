#pragma once

#include <vector>

#include "convseq/eval/statistics/variance_terms.h"

namespace convseq {

// A system in a sum of means.
struct WeightedTerms {
  VarianceTerms terms;
  double weight = 1;
};

// What groups that systems share, told apart by their ids, contribute to the variance of
// Σ weight · mean: the spread of the groups' parts of the sum, d_g. System t has P_t groups.
//
//   d_g = Σ_t w_t/P_t (mean_tg − mean_t),      k_g = Σ_t w_t/P_t,      over the t that have g
//   variance = Σ k_g² / tr(B²) · Σ d_g²,       B = diag(k) − Σ_t w_t/P_t² · 1 1ᵀ
//   degrees = tr(B²)² / tr(B⁴)
//
// That is unbiased if a group has the same effect a_g on all its systems, where sharing matters
// most: then d = B a. If all systems have the same P groups it is the usual Σ d_g² · P / (P − 1)
// with P − 1 degrees. A system with one group has no spread; it adds to the weight k of its group,
// so that the spread of the others stands for it. At least one system has several groups.
VarianceTerm variance_of_shared_groups(const std::vector<const WeightedTerms*>& systems);

}  // namespace convseq
