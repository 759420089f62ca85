#include "convseq/spec/summary.h"

#include <gtest/gtest.h>

#include "convseq/spec/presets.h"

namespace convseq {

namespace {
const SummaryNode& child(const SummaryNode& node, const std::string& name) {
  for (const SummaryNode& each : node.children) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no " << name;
  return node;
}

int64_t count_of(const std::vector<ParameterShape>& parameters) {
  int64_t count = 0;
  for (const ParameterShape& each : parameters) count += each.count();
  return count;
}
}  // namespace

TEST(Summary, FoldsBlocksThatLookAlike) {
  const auto parameters = list_parameters(find_model_config("paper-dilated-small"));
  const SummaryNode root = summarise(parameters);
  EXPECT_EQ(root.parameters, count_of(parameters));
  const SummaryNode& encoder = child(root, "encoder");
  const SummaryNode& blocks = child(encoder, "blocks");
  std::vector<std::string> names;
  int64_t sum = 0;
  for (const SummaryNode& block : blocks.children) {
    names.push_back(block.name);
    sum += block.parameters * block.repeats;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"0", "1", "2-3", "4-5"}));  // kernels 4 7 15 15 31 31
  EXPECT_EQ(sum, blocks.parameters);
}

TEST(Summary, PartsAddUpToTheModel) {
  const auto parameters = list_parameters(
      find_model_config("paper-light-tiny", {"classes=3", "encoder_attention_layers=[1]"}));
  int64_t sum = 0;
  for (const auto& [name, count] : parameters_by_part(parameters)) sum += count;
  EXPECT_EQ(sum, count_of(parameters));
}

}  // namespace convseq
