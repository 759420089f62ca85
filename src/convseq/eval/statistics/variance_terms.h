#pragma once

#include <cstdint>
#include <vector>

namespace convseq {

// The outcomes of the runs of one system on the same examples: groups[group][run][example]. The
// runs of a group share what another run of the system would draw anew, the pre-trained weights.
// A metric that is no mean over examples is one "example" per run.
struct SystemScores {
  using Run = std::vector<double>;
  std::vector<std::vector<Run>> groups = {};
  // What a group is known by in other systems, the seed of its pre-training; empty: its place.
  std::vector<int64_t> group_ids = {};

  int64_t runs() const;
  int64_t examples() const;
};

// A term of the variance of a mean, estimated from a mean square with these degrees of freedom.
struct VarianceTerm {
  double variance = 0;
  double degrees = 1;
};

// The random-effects model of SystemScores, groups and examples crossed, runs nested in groups:
//
//   y[g][r][e] = mean + group_g + run_gr + example_e + interaction_ge + residual_gre
//
// The mean is that of the P group means over E examples. Groups are what is drawn independently, so
// the spread of their means counts the runs within them too, exactly, whether the groups differ or
// not. A single group: its runs take the groups' place, and how another group would have differed
// is not counted.
struct VarianceTerms {
  double mean = 0;
  std::vector<int64_t> group_ids = {};
  std::vector<double> group_means = {};    // over the examples, of each group
  std::vector<double> example_means = {};  // over the groups, of each example
  // Var(interaction)/(P E) + Var(residual)/(P S E), for groups of S runs: the part of the spread of
  // group means that other examples would change, and of example means that other runs would.
  VarianceTerm interaction = {};

  bool several_groups() const { return group_ids.size() > 1; }
};

VarianceTerms variance_terms(const SystemScores& scores);

// The variance of the mean of `values`, from their own spread; 0 for one value.
VarianceTerm variance_of_mean(const std::vector<double>& values);

}  // namespace convseq
