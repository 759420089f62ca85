#include <gtest/gtest.h>

#include "convseq/bench/step_work.h"
#include "convseq/spec/presets.h"
#include "convseq/train/step/memory_estimate.h"

// What is counted for a model without computing it, against tests/goldens/model_counts.json.
namespace convseq::bench {
namespace {

const std::vector<Workload> kWorkloads = {{.source = 512, .target = 114},
                                          {.source = 37, .target = 5}};

Json optional(std::optional<int64_t> value) { return value ? Json(*value) : Json(nullptr); }

Json flops_of(const ModelConfig& config, const Workload& work) {
  Json json = Json::array();
  for (const auto& [part, flops] : forward_flops(config, work)) json.push_back({part, flops});
  return json;
}

Json work_of(const ModelConfig& config, const Workload& work) {
  const StepWork step = step_work(config, {.batch = 3, .work = work});
  Json matmuls = Json::array(), attentions = Json::array();
  for (const Matmul& each : step.matmuls) {
    matmuls.push_back({each.rows, each.in, each.out, each.count});
  }
  for (const AttentionMatmul& each : step.attentions) {
    attentions.push_back({each.batch, each.heads, each.queries, each.keys, each.head_channels,
                          each.causal, each.count});
  }
  return {{"matmuls", matmuls}, {"attentions", attentions}, {"rest_bytes", step.rest_bytes}};
}

Json memory_of(const ModelConfig& config, const Workload& work) {
  Json json = Json::array();
  for (const torch::Device device : {torch::Device(torch::kCPU), torch::Device(torch::kCUDA, 0)}) {
    for (const bool recompute : {false, true}) {
      const TrainingShape shape{.rows = 4,
                                .source = work.source,
                                .target = work.target,
                                .recompute = recompute,
                                .device = device};
      json.push_back(training_memory(config, shape).activations);
    }
  }
  json.push_back(inference_memory(config, {.rows = 4, .source = work.source, .target = work.target})
                     .activations);
  return json;
}

Json counts_of(const ModelConfig& config) {
  Json json = {{"receptive_fields",
                {optional(receptive_field(config, Side::Encoder)),
                 optional(receptive_field(config, Side::Decoder))}}};
  for (const Workload& work : kWorkloads) {
    const DecodeBytes state = decode_state_bytes(config, work.source, work.target, 2);
    json["workloads"].push_back({{"flops", flops_of(config, work)},
                                 {"state_bytes", {state.mixers, state.source}},
                                 {"step", work_of(config, work)},
                                 {"activation_bytes", memory_of(config, work)}});
  }
  return json;
}

}  // namespace

TEST(ModelCounts, EqualTheGoldenOnes) {
  const Json golden = read_json_file(CONVSEQ_SOURCE_DIR "/tests/goldens/model_counts.json");
  ASSERT_FALSE(golden.empty());
  for (const Json& each : golden) {
    const auto overrides = each.at("set").get<std::vector<std::string>>();
    const ModelConfig config = find_model_config(each.at("model").get<std::string>(), overrides);
    EXPECT_EQ(counts_of(config), each.at("counts")) << each.at("model") << " " << each.at("set");
  }
}

}  // namespace convseq::bench
