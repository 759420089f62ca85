#include "convseq/base/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include "base/safetensors_cases.h"
#include "convseq/base/error.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "fuzz/safetensors_fuzz.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using namespace testing;

namespace {

std::string refusal(const std::string& file) {
  return message_of<Error>([&] { SafetensorsFile::parse(bytes_of(file), "x"); });
}

// One tensor a type, and the awkward shapes; the bytes of all are the beginning of `content`.
std::map<std::string, TensorView> every_kind(const std::string& content) {
  std::map<std::string, TensorView> tensors;
  const auto add = [&](const std::string& name, TensorType type, std::vector<int64_t> shape,
                       size_t elements) {
    tensors[name] = {type, std::move(shape),
                     bytes_of(content).first(elements * static_cast<size_t>(byte_size(type)))};
  };
  for (const auto& [type, name] : kEnumNames<TensorType>) add(std::string(name), type, {3, 1}, 3);
  add("scalar", TensorType::F32, {}, 1);
  add("empty", TensorType::I64, {2, 0, 3}, 0);
  add("névé \"\n", TensorType::U8, {1}, 1);
  add("", TensorType::Bool, {0}, 0);
  return tensors;
}

}  // namespace

TEST(Safetensors, ReadsWhatItWrote) {
  TempFolder folder;
  const std::string content = "any twenty-four bytes ...";
  const auto tensors = every_kind(content);
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"é\n", "\"quoted\"\t"}};
  write_safetensors(folder / "m.safetensors", tensors, metadata);
  const auto file = SafetensorsFile::open(folder / "m.safetensors");
  expect_equal(file->tensors(), tensors);
  EXPECT_EQ(file->metadata(), metadata);
}

TEST(Safetensors, WritesEveryTensorAligned) {
  TempFolder folder;
  const std::string content(24, 'x');
  write_safetensors(folder / "m.safetensors", every_kind(content));
  const auto file = SafetensorsFile::open(folder / "m.safetensors");
  for (const auto& [name, view] : file->tensors()) {
    const auto address = reinterpret_cast<uintptr_t>(view.bytes.data());
    EXPECT_EQ(address % static_cast<uintptr_t>(byte_size(view.type)), 0u) << name;
  }
}

TEST(Safetensors, WritesNoFileThatItWouldRefuse) {
  TempFolder folder;
  const fs::path path = folder / "m.safetensors";
  const std::string content = "12345678";
  const auto refusal_of = [&](const std::string& name, std::vector<int64_t> shape) {
    return message_of<Error>([&] {
      write_safetensors(path, {{name, {TensorType::F32, std::move(shape), bytes_of(content)}}});
    });
  };
  const std::string at = path.string() + ": ";
  EXPECT_EQ(refusal_of("a", {3}), at + R"(tensor "a": 8 bytes given for F32 [3])");
  EXPECT_EQ(refusal_of("a", {-2}), at + R"(tensor "a": 8 bytes given for F32 [-2])");
  EXPECT_EQ(refusal_of("__metadata__", {2}), at + "no tensor may be named __metadata__");
  EXPECT_EQ(refusal_of("\xFF", {2}), at + "\"\uFFFD\" is not UTF-8");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Safetensors, ReadsTensorsInAnyOrderAndPassesOverUnknownKeys) {
  for (const std::string& file : valid_files()) EXPECT_EQ(refusal(file), "") << file;
  const std::string bytes = valid_files()[8];
  const SafetensorsFile file = SafetensorsFile::parse(bytes_of(bytes), "x");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors().at("b").shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(file.tensors().at("b").bytes.front(), std::byte{'2'});
  EXPECT_EQ(file.metadata().at("k"), "v");
}

TEST(Safetensors, RefusesHostileFilesAndSaysWhy) {
  for (const auto& table : {files_the_reference_refuses(), files_that_we_alone_refuse()}) {
    for (const RefusedFile& file : table) {
      EXPECT_EQ(refusal(file.bytes), "x: " + file.error) << file.bytes.substr(0, 200);
    }
  }
}

TEST(Safetensors, RefusesAFileCutAtAnyByte) {
  TempFolder folder;
  write_safetensors(folder / "m.safetensors", every_kind(std::string(24, 'x')), {{"k", "v"}});
  const std::string whole = read_text_file(folder / "m.safetensors");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  }
  EXPECT_EQ(refusal(whole), "");
}

TEST(Safetensors, ErrorsOfAFileBeginWithItsPath) {
  TempFolder folder;
  const auto refusal_of = [](const fs::path& path) {
    return message_of<Error>([&] { SafetensorsFile::open(path); });
  };
  const fs::path path = folder.file("bad.safetensors", "bad");
  EXPECT_EQ(refusal_of(path), path.string() + ": 3 bytes long; a safetensors file has at least 8");
  EXPECT_EQ(refusal_of(folder / "none"),
            (folder / "none").string() + ": cannot open: No such file or directory");
}

// The fuzzer's own entry, over changes that a seed draws: for machines without libFuzzer.
TEST(Safetensors, SurvivesMutatedFiles) {
  const std::vector<std::string> seeds = valid_files();
  int accepted = 0;
  for (uint64_t round = 0; round < 20'000; ++round) {
    Random random(1, {round});
    const std::string file = mutated(seeds[random.below(seeds.size())], random);
    accepted += accepts_safetensors(bytes_of(file));
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace convseq
