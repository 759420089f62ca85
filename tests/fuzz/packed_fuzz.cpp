#include "fuzz/packed_fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "convseq/answer/greedy.h"
#include "convseq/base/checksum.h"
#include "convseq/base/file/json_file.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/runtime/weights/packed_weights.h"
#include "fuzz/promise.h"
#include "model/model_table.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

namespace convseq::testing {
namespace fs = std::filesystem;
namespace {

constexpr std::byte kPacked{0x5A};

size_t padded(size_t bytes) {
  return (bytes + kPackedAlignment - 1) / kPackedAlignment * kPackedAlignment;
}

// Parts that are packed as one value.
class Parts {
 public:
  Parts() {
    for (size_t i = 0; i < std::size(kPartBytes); ++i) {
      list.push_back({.bytes = kPartBytes[i],
                      .pack = [=](std::byte* to) { std::fill_n(to, kPartBytes[i], kPacked); },
                      .use = [=, this](const std::byte* at) { places_[i] = at; }});
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Reads every byte.
  bool equal(std::span<const std::byte> contents) const {
    bool same = true;
    for (size_t i = 0, at = 0; i < std::size(kPartBytes); at += padded(kPartBytes[i++])) {
      promise(reinterpret_cast<uintptr_t>(places_[i]) % kPackedAlignment == 0, "a part is aligned");
      for (size_t k = 0; k < kPartBytes[i]; ++k) {
        same = same && places_[i][k] == (contents.empty() ? kPacked : contents[at + k]);
      }
    }
    return same;
  }

  std::vector<PackedPart> list;

 private:
  std::array<const std::byte*, std::size(kPartBytes)> places_{};
};

PackedFileOptions packed_file() {
  static const TempFolder folder;
  return {.path = folder / "packed.bin", .key = "key\n"};
}

// A model whose packed weights are mapped from a file, which is overwritten while it is mapped.
class HostileModel {
 public:
  HostileModel(const ModelConfig& config, CpuPrecision precision) {
    random_weights(config).write(folder_ / "model", config);
    engine_ = load_cpu_engine(folder_ / "model", {.precision = precision, .threads = 1});
    for (const auto& entry : fs::directory_iterator(folder_ / "model")) {
      if (!entry.path().filename().string().starts_with("packed-")) continue;
      bytes_.resize(entry.file_size() - kPackedHeaderBytes);
      file_ = ::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC);
    }
    promise(file_ >= 0, "the packed weights are in a file");
  }
  ~HostileModel() { ::close(file_); }
  HostileModel(const HostileModel&) = delete;
  HostileModel& operator=(const HostileModel&) = delete;

  void answer(std::span<const std::byte> contents) {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = contents[i % contents.size()];
    promise(::pwrite(file_, bytes_.data(), bytes_.size(), kPackedHeaderBytes) == std::ssize(bytes_),
            "the file can be written");
    static const auto sources = random_sources({5, 1, 0, 12});
    const auto encoded = engine_->encode(sources);
    promise(engine_->classify(*encoded).size() == sources.size(), "each source has classes");
    promise(engine_->score(*encoded, {{2, 1}, {5, 3, 4, 1}}).size() == sources.size(),
            "each source has scores");
    for (const Generation& each : generate_greedy(*engine_, sources, {.max_tokens = 5})) {
      for (const int32_t id : each.tokens) {
        promise(id >= 0 && id < engine_->config().vocab_size, "a token is in the vocabulary");
      }
    }
  }

 private:
  TempFolder folder_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::byte> bytes_;
  int file_ = -1;
};

std::vector<std::unique_ptr<HostileModel>> hostile_models() {
  std::vector<std::unique_ptr<HostileModel>> models;
  for (ModelCase each : model_cases()) {
    each.config.classes = 3;
    for (const auto precision : {CpuPrecision::Fp32, CpuPrecision::Bf16, CpuPrecision::Int8}) {
      models.push_back(std::make_unique<HostileModel>(each.config, precision));
    }
  }
  return models;
}

}  // namespace

const std::string& valid_packed_file() {
  static const std::string file = [] {
    const Parts parts;
    const PackedWeights weights(parts.list, packed_file());
    promise(weights.is_mapped(), "a file is written");
    return read_text_file(packed_file().path);
  }();
  return file;
}

uint32_t packed_checksum(std::span<const std::byte> file) {
  std::vector<uint32_t> sums;
  const std::byte* at = file.data() + kPackedHeaderBytes;
  for (const size_t bytes : kPartBytes) {
    sums.push_back(crc32_of({at, padded(bytes)}));
    at += padded(bytes);
  }
  return crc32_of(std::as_bytes(std::span(sums)));
}

void open_packed_file(std::span<const std::byte> file) {
  const auto valid = std::as_bytes(std::span(valid_packed_file()));
  constexpr size_t kText = kPackedHeaderBytes - sizeof(uint32_t);
  uint32_t checksum = 0;
  if (file.size() >= kPackedHeaderBytes) {
    std::memcpy(&checksum, file.data() + kText, sizeof checksum);
  }
  const bool is_valid = file.size() == valid.size() &&
                        std::memcmp(file.data(), valid.data(), kText) == 0 &&
                        packed_checksum(file) == checksum;
  std::ofstream(packed_file().path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  const Parts parts;
  const PackedWeights weights(parts.list, packed_file());
  promise(weights.is_mapped(), "a damaged file is written again");
  promise(parts.equal(is_valid ? file.subspan(kPackedHeaderBytes) : std::span<const std::byte>()),
          "the parts are those of a valid file, and no others");
}

void answer_with(std::span<const std::byte> contents) {
  static const auto models = hostile_models();
  if (contents.empty()) return;
  models[static_cast<size_t>(contents.front()) % models.size()]->answer(contents);
}

}  // namespace convseq::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace convseq::testing;
  const auto file = std::as_bytes(std::span(data, size));
  open_packed_file(file);
  answer_with(file.subspan(std::min(size, kPackedHeaderBytes)));
  return 0;
}
