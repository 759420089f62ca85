#include "convseq/bench/timing.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/bench/length_speed.h"
#include "convseq/bench/step_speed.h"
#include "temp_folder.h"

namespace convseq::bench {

TEST(Timing, MoreWorkTakesLonger) {
  const torch::NoGradGuard no_grad;
  const auto small = torch::randn({32, 32}), large = torch::randn({256, 256});
  const auto ms = milliseconds_of(
      torch::kCPU, {[&] { torch::mm(small, small); }, [&] { torch::mm(large, large); }},
      {.rounds = 5, .round_ms = 1});
  EXPECT_GT(ms[0], 0);
  EXPECT_GT(ms[1], 4 * ms[0]);
}

TEST(Timing, CopiesAtASpeedThatMemoryHas) {
  const double bandwidth = copy_bandwidth(torch::kCPU, 8 << 20, {.rounds = 3, .round_ms = 1});
  EXPECT_GT(bandwidth, 1e8);
  EXPECT_LT(bandwidth, 1e13);
}

TEST(Peers, TheFastestModeOfEachNameCounts) {
  const testing::TempFolder folder;
  const auto path =
      folder.file("peer.jsonl",
                  "W1116 a warning of Python's\n"
                  R"({"name":"a","mode":"eager","tokens_per_second":1,"ms":9,"peak_gib":3})"
                  "\n"
                  R"({"name":"a","mode":"torch.compile","tokens_per_second":2,"ms":5,"peak_gib":4})"
                  "\n"
                  R"({"name":"b","mode":"eager","tokens_per_second":7,"ms":2,"peak_gib":1})"
                  "\n");
  const auto peers = read_peers(path);
  EXPECT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers.at("a").mode, "torch.compile");
  EXPECT_EQ(peers.at("a").peak_gib, 4);
  EXPECT_EQ(peers.at("b").tokens_per_second, 7);
}

TEST(StepRows, AreComparedWithThePeerAndWithTheFloor) {
  const StepSpeed speed{.name = "train_step_light_512",
                        .rows = 2,
                        .source_tokens = 1024,
                        .ms = 10,
                        .flops = 1e9,
                        .flops_ceiling = 1e12,
                        .peak_bytes = 1 << 30,
                        .matmuls = {{.what = "p", .count = 1, .ms = 6, .flops = 1e9}},
                        .rest_bytes = {{"rest", 2e6}},
                        .copy_bandwidth = 1e9};
  const auto rows =
      rows_of(speed, {{speed.name, {.mode = "eager", .tokens_per_second = 51200, .peak_gib = 2}}});
  EXPECT_EQ(rows[0].name, "train_step_light_512");
  EXPECT_DOUBLE_EQ(rows[0].value, 102400);
  EXPECT_DOUBLE_EQ(*rows[0].floor, 128000);
  EXPECT_DOUBLE_EQ(*rows[0].ratio, 2);  // times the peer
  EXPECT_EQ(rows[2].name, "train_step_light_512_ms");
  EXPECT_DOUBLE_EQ(*rows[2].ratio, 10.0 / 8);
  EXPECT_DOUBLE_EQ(rows[3].value, 0.1);
  EXPECT_DOUBLE_EQ(*rows[4].ratio, 0.5);
  const auto unknown =
      rows_of(speed, {{speed.name, {.mode = "eager", .tokens_per_second = 51200}}});
  EXPECT_DOUBLE_EQ(*unknown[0].ratio, 2);
  EXPECT_FALSE(unknown[4].peer_value || unknown[4].ratio);
}

TEST(LengthRows, TellSpeedAndTheShareOfThePeak) {
  const LengthSpeed speed{.mixer = "light",
                          .length = 512,
                          .rows = 2,
                          .flops_ceiling = 1e12,
                          .encoder = {.ms = 4, .flops = 1e9},
                          .step = {.flops = 3e9, .fits = false}};
  std::map<std::string, double> values;
  for (const Row& row : rows_of({speed})) values[row.name] = row.value;
  EXPECT_DOUBLE_EQ(values.at("encoder_light_512"), 256000);
  EXPECT_DOUBLE_EQ(values.at("encoder_light_512_examples"), 500);
  EXPECT_DOUBLE_EQ(values.at("encoder_light_512_utilisation"), 0.25);
  EXPECT_DOUBLE_EQ(values.at("step_light_512_flops"), 0.0015);
  EXPECT_EQ(values.count("step_light_512"), 0u);  // did not fit
}

}  // namespace convseq::bench
