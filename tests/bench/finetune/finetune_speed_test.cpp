#include "convseq/bench/finetune/finetune_speed.h"

#include <gtest/gtest.h>

#include <set>

#include "convseq/base/error.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq::bench {
using testing::message_of;
using testing::TempFolder;

namespace {

std::map<std::string, Row> by_name(const std::vector<Row>& rows) {
  std::map<std::string, Row> map;
  for (const Row& row : rows) map[row.name] = row;
  return map;
}

const FinetuneSpeed kSpeed{.name = "finetune_light_512",
                           .d_model = 512,
                           .ms = 4,
                           .examples = 31,
                           .padding = 0.1,
                           .shapes = 5,
                           .flops = 1e12,
                           .flops_ceiling = 500e12,
                           .optimizer_bytes = 2e9,
                           .copy_bandwidth = 4e12};

}  // namespace

TEST(FinetuneSpeed, ComparesWithTheFloorAndWithThePeerOfTheSameWidth) {
  EXPECT_DOUBLE_EQ(kSpeed.floor_ms(), 2 + 0.5);
  const auto alone = by_name(rows_of(kSpeed, {{256, {"eager", 50}}}));
  EXPECT_DOUBLE_EQ(alone.at("finetune_light_512").value, 250);
  EXPECT_DOUBLE_EQ(*alone.at("finetune_light_512").floor, 400);
  EXPECT_DOUBLE_EQ(*alone.at("finetune_light_512").ratio, 250.0 / 400);
  EXPECT_DOUBLE_EQ(*alone.at("finetune_light_512_ms").ratio, 4 / 2.5);
  EXPECT_DOUBLE_EQ(alone.at("finetune_light_512_examples").value, 31 * 250);
  EXPECT_FALSE(alone.contains("finetune_light_512_captures"));
  const auto beside = by_name(rows_of(kSpeed, {{512, {"eager", 50}}}));
  EXPECT_DOUBLE_EQ(*beside.at("finetune_light_512").ratio, 5);
  EXPECT_EQ(beside.at("finetune_light_512").peer, "Hugging Face T5, eager");
}

TEST(FinetuneSpeed, ReportsWhatCapturingCost) {
  FinetuneSpeed speed = kSpeed;
  speed.captures = {
      .captures = 5, .seconds = 1.5, .bytes = 1 << 30, .replayed = 90, .launched = 10};
  const auto rows = by_name(rows_of(speed, {}));
  EXPECT_DOUBLE_EQ(rows.at("finetune_light_512_captures").value, 5);
  EXPECT_DOUBLE_EQ(rows.at("finetune_light_512_capture_time").value, 1.5);
  EXPECT_DOUBLE_EQ(rows.at("finetune_light_512_graph_memory").value, 1);
  EXPECT_DOUBLE_EQ(rows.at("finetune_light_512_replayed").value, 0.9);
}

TEST(FinetuneSpeed, TakesTheFastestModeOfEachPeer) {
  const TempFolder folder;
  const auto path = folder.file("peer.jsonl",
                                "a warning of Python\n"
                                R"({"d_model": 512, "mode": "eager", "steps_per_second": 11})"
                                "\n"
                                R"({"d_model": 512, "mode": "compiled", "steps_per_second": 30})"
                                "\n"
                                R"({"d_model": 256, "mode": "eager", "steps_per_second": 16})");
  const auto peers = read_finetune_peers(path);
  EXPECT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers.at(512).mode, "compiled");
  EXPECT_EQ(peers.at(512).steps_per_second, 30);
  EXPECT_EQ(message_of<Error>([&] { read_finetune_peers(folder.file("none.jsonl", "oops\n")); }),
            (folder / "none.jsonl").string() + ": no lines of bench/peer_finetune.py");
}

TEST(FinetuneSpeed, ShapesOfAnEpochArePaddedToFew) {
  const Json shapes = finetune_shapes({.rows = 32, .steps = 300, .ladder = {.max_shapes = 6}});
  ASSERT_EQ(shapes["batches"].size(), 300u);
  ASSERT_EQ(shapes["padded"].size(), 300u);
  std::set<Json> seen;
  for (size_t i = 0; i < 300; ++i) {
    seen.insert(shapes["padded"][i]);
    for (size_t side = 0; side < 3; ++side) {
      EXPECT_GE(shapes["padded"][i][side], shapes["batches"][i][side]);
    }
  }
  EXPECT_LE(seen.size(), 6u);
}

TEST(FinetuneSpeed, MeasuresModelsOfSeveralWidthsAndRefusesTwoOfOneName) {
  const std::vector<std::string> tiny = {"vocab_size=100", "d_ff=32", "heads=2", "d_kv=8",
                                         "conv_heads=2"};
  const auto model = [&](int64_t width) {
    auto settings = tiny;
    settings.push_back(fmt::format("d_model={}", width));
    return find_model_config("paper-light-tiny", settings);
  };
  FinetuneSpeedOptions options{
      .models = {model(16), model(32)}, .batches = {.rows = 4, .steps = 3}, .rounds = 1};
  const auto speeds = measure_finetuning(options);
  ASSERT_EQ(speeds.size(), 2u);
  EXPECT_EQ(speeds[0].name, "finetune_light_16");
  EXPECT_EQ(speeds[1].name, "finetune_light_32");
  for (const FinetuneSpeed& speed : speeds) {
    EXPECT_GT(speed.ms, 0);
    EXPECT_EQ(speed.examples, 4);
    EXPECT_EQ(speed.shapes, 3) << "batches sorted by length";
    EXPECT_GT(speed.floor_ms(), 0);
  }
  options.models.push_back(model(16));
  EXPECT_NE(message_of<Error>([&] { measure_finetuning(options); }).find("two with mixer light"),
            std::string::npos);
}

}  // namespace convseq::bench
