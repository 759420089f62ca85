#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <sstream>

#include "base/safetensors_cases.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"
#include "fuzz/safetensors_fuzz.h"
#include "python.h"
#include "temp_folder.h"

namespace convseq {
namespace fs = std::filesystem;
using namespace testing;

namespace {

int script(const std::string& arguments) {
  return python("'" CONVSEQ_SOURCE_DIR "/tests/base/safetensors_interop.py' " + arguments);
}

// The same as TENSORS and METADATA in safetensors_interop.py.
class SafetensorsInterop : public ::testing::Test {
 protected:
  void SetUp() override {
    if (python("-c 'import numpy, safetensors' 2>/dev/null") != 0) {
      GTEST_SKIP() << "Python's numpy and safetensors are not there; tools/setup.sh installs them";
    }
    std::iota(content_.begin(), content_.end(), 0);
    for (const auto& [type, name] : kEnumNames<TensorType>) {
      const bool numpy_knows = !(name.starts_with("F8") || name == "BF16");
      if (numpy_knows) add(std::string(name), type, {2, 1}, 2);
    }
    add("scalar", TensorType::F32, {}, 1);
    add("empty", TensorType::I64, {2, 0, 3}, 0);
  }

  void add(const std::string& name, TensorType type, std::vector<int64_t> shape, size_t elements) {
    const size_t bytes = elements * static_cast<size_t>(byte_size(type));
    tensors_[name] = {type, std::move(shape), bytes_of(content_).first(bytes)};
  }

  TempFolder folder_;
  std::string content_ = std::string(16, '\0');
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_ = {{"névé", "a \"b\"\n"}};
};

TEST_F(SafetensorsInterop, ReadsWhatPythonWrote) {
  const fs::path path = folder_ / "python.safetensors";
  ASSERT_EQ(script("write " + path.string()), 0);
  const auto file = SafetensorsFile::open(path);
  expect_equal(file->tensors(), tensors_);
  EXPECT_EQ(file->metadata(), metadata_);
}

TEST_F(SafetensorsInterop, PythonReadsWhatWeWrote) {
  const fs::path path = folder_ / "ours.safetensors";
  write_safetensors(path, tensors_, metadata_);
  EXPECT_EQ(script("read " + path.string()), 0);
}

TEST_F(SafetensorsInterop, WritesTheBytesThatPythonWrites) {
  ASSERT_EQ(script("write " + (folder_ / "python").string()), 0);
  write_safetensors(folder_ / "ours", tensors_, metadata_);
  EXPECT_EQ(read_text_file(folder_ / "ours"), read_text_file(folder_ / "python"));
}

TEST_F(SafetensorsInterop, AcceptsNothingThatTheReferenceRefuses) {
  fs::create_directory(folder_ / "files");
  std::set<std::string> accepted;
  const auto add_file = [&](const std::string& bytes) {
    const std::string name = fmt::format("{:04}", accepted.size());
    folder_.file("files/" + name, bytes);
    accepted.insert(name);
  };
  const std::vector<std::string> seeds = valid_files();
  for (const std::string& file : seeds) add_file(file);
  for (uint64_t round = 0; accepted.size() < 500; ++round) {
    Random random(2, {round});
    const std::string file = mutated(seeds[random.below(seeds.size())], random);
    if (accepts_safetensors(bytes_of(file))) add_file(file);
  }
  size_t row = 0;
  for (const RefusedFile& file : files_the_reference_refuses()) {
    folder_.file(fmt::format("files/refused in row {}", row++), file.bytes);
  }
  ASSERT_EQ(script(fmt::format("judge {} > {}", (folder_ / "files").string(),
                               (folder_ / "verdict").string())),
            0);
  std::istringstream verdict(read_text_file(folder_ / "verdict"));
  std::set<std::string> accepted_by_reference;
  for (std::string line; std::getline(verdict, line);) accepted_by_reference.insert(line);
  EXPECT_EQ(accepted, accepted_by_reference);
}

}  // namespace
}  // namespace convseq
