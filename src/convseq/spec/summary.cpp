#include "convseq/spec/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/text/split.h"

namespace convseq {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void add(SummaryNode& root, const ParameterShape& parameter) {
  SummaryNode* node = &root;
  node->parameters += parameter.count();
  for (const std::string& part : split(parameter.name, ".")) {
    auto child = std::ranges::find(node->children, part, &SummaryNode::name);
    if (child == node->children.end()) {
      node->children.push_back({.name = part, .shape = {}, .children = {}});
      child = node->children.end() - 1;
    }
    node = &*child;
    node->parameters += parameter.count();
  }
  node->shape = parameter.shape;
}

bool look_alike(const SummaryNode& a, const SummaryNode& b) {
  return a.shape == b.shape && a.parameters == b.parameters &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const SummaryNode& x, const SummaryNode& y) {
                      return x.name == y.name && look_alike(x, y);
                    });
}

// "0", "1" and "2" with the same children become "0-2", repeated three times.
void fold(SummaryNode& node) {
  std::vector<SummaryNode> folded;
  for (SummaryNode& child : node.children) {
    fold(child);
    const bool joins = is_number(child.name) && !folded.empty() && look_alike(folded.back(), child);
    if (joins) {
      SummaryNode& first = folded.back();
      first.name = fmt::format("{}-{}", first.name.substr(0, first.name.find('-')), child.name);
      ++first.repeats;
    } else {
      folded.push_back(std::move(child));
    }
  }
  node.children = std::move(folded);
  if (node.children.size() == 1 && node.children[0].repeats == 1 && !node.name.empty()) {
    SummaryNode only = std::move(node.children[0]);
    only.name = node.name + "." + only.name;
    node = std::move(only);
  }
}

}  // namespace

SummaryNode summarise(const std::vector<ParameterShape>& parameters) {
  SummaryNode root{.name = "", .shape = {}, .children = {}};
  for (const ParameterShape& each : parameters) add(root, each);
  fold(root);
  return root;
}

NamedCounts parameters_by_part(const std::vector<ParameterShape>& parameters) {
  NamedCounts parts;
  for (const ParameterShape& parameter : parameters) {
    const auto path = split(parameter.name, ".");
    // encoder.blocks.3.mixer.query.weight -> "encoder mixer"; encoder.blocks.3.mixer_norm.weight
    // and encoder.norm.weight -> "encoder norm".
    const size_t module = path.size() > 3 && path[1] == "blocks" ? 3 : 1;
    const bool in_stack = path[0] == "encoder" || path[0] == "decoder";
    std::string part = in_stack ? path[0] + " " + path[module] : path[0];
    if (part.ends_with("_norm")) part = path[0] + " norm";
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [&](const auto& each) { return each.first == part; });
    if (found == parts.end()) {
      parts.emplace_back(part, parameter.count());
    } else {
      found->second += parameter.count();
    }
  }
  return parts;
}

}  // namespace convseq
