#include <gtest/gtest.h>

#include "convseq/model/checkpoint.h"
#include "convseq/spec/parameter_list.h"
#include "convseq/spec/presets.h"
#include "model_table.h"

namespace convseq {

TEST(ParameterShapes, EqualThoseOfARealModel) {
  auto cases = testing::model_cases();
  cases.push_back({"pooled", cases.front().config});
  cases.back().config.classes = 3;
  for (const auto& [name, config] : cases) {
    const TensorMap real = parameters_of(Seq2Seq(config)), shapes = parameters_of(config);
    ASSERT_EQ(real.size(), shapes.size()) << name;
    for (const auto& [tensor, shape] : shapes) {
      EXPECT_EQ(real.at(tensor).sizes(), shape.sizes()) << name << " " << tensor;
      EXPECT_TRUE(real.at(tensor).is_cpu() && shape.is_meta()) << name << " " << tensor;
    }
    EXPECT_EQ(parameter_count(config), Seq2Seq(config).parameter_count()) << name;
    std::vector<ParameterShape> ordered;
    for (const auto& [tensor, shape] : parameter_shapes(config)) {
      ordered.push_back({tensor, shape.sizes().vec()});
    }
    EXPECT_EQ(list_parameters(config), ordered) << name;
  }
}

TEST(ParameterShapes, OfAModelBeyondAnyMachineTakeNoMemory) {
  const auto config = find_model_config("paper-transformer-base",
                                        {"d_ff=16000000", "d_model=160000", "classes=16777216"});
  EXPECT_GT(parameter_count(config), int64_t{24} * 2 * 16'000'000 * 160'000);
}

}  // namespace convseq
