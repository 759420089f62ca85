#include "convseq/data/corpus/corpus_input.h"

#include <sys/stat.h>

#include <fstream>

#include "convseq/base/checksum.h"
#include "convseq/base/file/system_error.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBlock = 64 << 10;
constexpr int64_t kBlocks = 16;

uint32_t sample_of(const fs::path& path, int64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string sample;
  const auto read = [&](int64_t begin, int64_t count) {
    const size_t before = sample.size();
    sample.resize(before + static_cast<size_t>(count));
    file.seekg(begin);
    file.read(sample.data() + before, count);
    if (file.eof()) fail("{}: became shorter while it was read", path.string());
    if (!file.good()) fail_to("read", path);
  };
  if (bytes <= kBlock * kBlocks) {
    read(0, bytes);
  } else {
    for (int64_t i = 0; i < kBlocks; ++i) read((bytes - kBlock) / (kBlocks - 1) * i, kBlock);
    read(bytes - kBlock, kBlock);  // a compressed file ends with a checksum of its text
  }
  return crc32_of(sample);
}

}  // namespace

CorpusInput CorpusInput::describe(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {file.string()};
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return {.file = file.string(),
          .bytes = status.st_size,
          .modified = status.st_mtim.tv_sec * kNanoseconds + status.st_mtim.tv_nsec,
          .sample = sample_of(file, status.st_size)};
}

CorpusInput CorpusInput::from_json(const JsonObject& json) {
  CorpusInput input{.file = json.get<std::string>("file"), .bytes = json.get<int64_t>("bytes")};
  if (json.has("modified")) input.modified = json.get<int64_t>("modified");
  if (json.has("sample")) input.sample = json.get<uint32_t>("sample");
  return input;
}

Json CorpusInput::to_json() const {
  Json json = {{"file", file}, {"bytes", bytes}};
  if (modified) json["modified"] = *modified;
  if (sample) json["sample"] = *sample;
  return json;
}

bool CorpusInput::is_same_file(const CorpusInput& then) const {
  return file == then.file && bytes == then.bytes &&
         (!sample || !then.sample || sample == then.sample);
}

bool CorpusInput::may_have_changed(const CorpusInput& then) const {
  return modified != then.modified && (!then.sample || bytes > kBlock * kBlocks);
}

}  // namespace convseq
