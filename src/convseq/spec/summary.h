#pragma once

#include <string>
#include <vector>

#include "convseq/spec/flops.h"
#include "convseq/spec/parameter_list.h"

namespace convseq {

// A model's parameters as a tree of modules. Consecutive numbered children of the same shape (the
// blocks of a stack) are folded into one node, and a module with one child is merged with it.
struct SummaryNode {
  std::string name;            // "encoder", "0-11", "query.weight"
  std::vector<int64_t> shape;  // of a parameter; empty for a module
  int64_t parameters = 0;      // of this node and all below it, counted once
  int64_t repeats = 1;         // number of nodes folded into this one
  std::vector<SummaryNode> children;
};

SummaryNode summarise(const std::vector<ParameterShape>& parameters);

// Parameters by part: "embedding", "encoder mixer", "decoder cross", …
NamedCounts parameters_by_part(const std::vector<ParameterShape>& parameters);

}  // namespace convseq
