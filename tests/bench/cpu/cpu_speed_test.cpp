#include "convseq/bench/cpu/cpu_speed.h"

#include <gtest/gtest.h>

#include "answer/table_engine.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/bench/cpu/cpu_peers.h"
#include "convseq/bench/cpu/random_model.h"
#include "convseq/model/checkpoint.h"
#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq::bench {
using testing::TableEngine;
using testing::TempFolder;

namespace {

// Prepared as bench/peer_cpu.py writes it.
std::string peer_line(const std::string& model, const std::string& precision, double per_second,
                      int64_t batch = 32, int64_t length = 128) {
  return fmt::format(
      "{{\"peer\": \"Peer\", \"model\": \"{}\", \"precision\": \"{}\", \"d_model\": 512, "
      "\"layers\": 6, \"threads\": 2, \"batch\": {}, \"rows\": {}, \"length\": {}, \"ms\": {}, "
      "\"examples_per_second\": {}}}\n",
      model, precision, batch, batch, length, 1e3 * static_cast<double>(batch) / per_second,
      per_second);
}

std::vector<CpuPeer> peers_of(const std::string& lines) {
  const TempFolder folder;
  return read_cpu_peers(folder.file("peers.jsonl", "a warning of Python\n" + lines));
}

// 100 examples per second.
CpuSpeed speed_of(CpuPrecision precision, int64_t batch = 32) {
  return {.mixer = "light",
          .precision = precision,
          .d_model = 512,
          .layers = 6,
          .batch = batch,
          .rows = batch,
          .length = 128,
          .ms = 10 * static_cast<double>(batch)};
}

}  // namespace

TEST(CpuSpeed, MeasuresEveryPrecisionBatchAndLength) {
  std::vector<CpuPrecision> made, announced;
  CpuSpeedOptions options{.models = {TableEngine::small_config()},
                          .precisions = {CpuPrecision::Int8, CpuPrecision::Fp32},
                          .lengths = {4, 10},
                          .batches = {8, 1},
                          .max_tokens = 40,
                          .sequences = {3},
                          .source = 5,
                          .new_tokens = 4,
                          .seconds = 0};
  options.make_engine = [&](const ModelConfig& config, CpuPrecision precision) {
    made.push_back(precision);
    EXPECT_EQ(config.decoder_layers == 0, made.size() % 2 == 1) << "the encoder comes first";
    return std::make_unique<TableEngine>(TableEngine::small_config());
  };
  options.before_each = [&](CpuPrecision precision) { announced.push_back(precision); };
  const auto speeds = measure_cpu(options);
  EXPECT_EQ(made.size(), 4u);
  EXPECT_EQ(announced.size(), 10u);
  ASSERT_EQ(speeds.size(), 10u);
  EXPECT_EQ(speeds[0].rows, 8);
  EXPECT_EQ(speeds[1].rows, 4) << "8 rows of 10 tokens are more than 40";
  EXPECT_EQ(speeds[2].rows, 1);
  EXPECT_EQ(speeds[4].new_tokens, 4);
  EXPECT_EQ(speeds[4].rows, 3);
  EXPECT_EQ(speeds[9].precision, CpuPrecision::Fp32);
  for (const CpuSpeed& speed : speeds) {
    EXPECT_GT(speed.ms, 0);
    EXPECT_GT(speed.gigaflops, 0);
    EXPECT_EQ(speed.precision, announced[static_cast<size_t>(&speed - speeds.data())]);
  }
}

TEST(CpuSpeed, StopsWhenItIsTold) {
  CpuSpeedOptions options{.models = {TableEngine::small_config()}, .lengths = {4}, .seconds = 0};
  options.make_engine = [](const ModelConfig& config, CpuPrecision) {
    return std::make_unique<TableEngine>(config);
  };
  options.watch = [](int64_t done, int64_t total, const std::string&) {
    EXPECT_EQ(total, 12);
    return done < 1;
  };
  EXPECT_EQ(measure_cpu(options).size(), 1u);
}

TEST(RandomModel, LoadsAndKeepsTheScaleOfActivations) {
  const ModelConfig config = find_model_config("paper-dynamic-tiny", {"vocab_size=50"});
  ParameterShapes shapes;
  for (const auto& [name, tensor] : parameter_shapes(config)) shapes[name] = tensor.sizes().vec();
  const TempFolder folder;
  write_random_model(folder.path(), config, shapes);
  const auto model = load_model(folder.path());
  const auto hidden = model->encode(torch::arange(2, 50).view({4, 12}), {});
  EXPECT_NEAR(hidden.std().item<double>(), 1, 0.2);  // behind the last norm
}

TEST(TemporaryFolder, IsRemovedWithItsFiles) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    write_file_atomically(path / "file", "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CpuPeers, ComparesWithTheFastestTransformerOfAnyPrecision) {
  const auto peers =
      peers_of(peer_line("transformer", "fp32", 20) + peer_line("transformer", "int8", 50) +
               peer_line("light", "int8", 80) + peer_line("light", "fp32", 25) +
               peer_line("transformer", "bf16", 40) + peer_line("transformer", "int8", 70, 32, 64));
  const auto rows = rows_of(speed_of(CpuPrecision::Int8), peers);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "cpu_light_int8_128_batch_32");
  EXPECT_EQ(rows[0].peer, "Peer int8");
  EXPECT_DOUBLE_EQ(*rows[0].ratio, 2);
  EXPECT_EQ(rows[1].name, "cpu_light_int8_128_batch_32_same_graph");
  EXPECT_EQ(rows[1].peer, "Peer int8, light graph");
  EXPECT_DOUBLE_EQ(*rows[1].ratio, 1.25);
  const auto fp32 = rows_of(speed_of(CpuPrecision::Fp32), peers);
  ASSERT_EQ(fp32.size(), 3u);
  EXPECT_EQ(fp32[2].name, "cpu_light_fp32_128_batch_32_fp32_peer");
  EXPECT_DOUBLE_EQ(*fp32[2].ratio, 4);
}

TEST(CpuPeers, ComparesTheLatencyOfBatchesOfOne) {
  const auto peers = peers_of(peer_line("transformer", "int8", 25, 1));
  const auto rows = rows_of(speed_of(CpuPrecision::Int8, 1), peers);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].unit, "ms");
  EXPECT_DOUBLE_EQ(*rows[0].peer_value, 40);
  EXPECT_DOUBLE_EQ(*rows[0].ratio, 0.25);
}

TEST(CpuPeers, ComparesGenerationInTokensPerSecond) {
  const auto peers = peers_of(
      R"({"peer": "CTranslate2", "model": "transformer", "precision": "int8", "d_model": 512, )"
      R"("layers": 6, "threads": 2, "batch": 16, "source": 128, "new_tokens": 64, "ms": 1000, )"
      R"("tokens_per_second": 1024})");
  CpuSpeed speed = speed_of(CpuPrecision::Bf16, 16);
  speed.new_tokens = 64;
  const auto rows = rows_of(speed, peers);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "generate_light_bf16_batch_16");
  EXPECT_EQ(rows[0].peer, "CTranslate2 int8");
  EXPECT_DOUBLE_EQ(rows[0].value, 6400);
  EXPECT_DOUBLE_EQ(*rows[0].ratio, 6.25);
}

TEST(CpuPeers, HasRowsWithoutPeers) {
  const auto rows = rows_of(speed_of(CpuPrecision::Fp32), {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].ratio);
}

}  // namespace convseq::bench
