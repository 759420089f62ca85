#include "convseq/base/metrics/tensorboard.h"

#include <unistd.h>

#include <array>

#include "convseq/base/file/system_error.h"
#include "convseq/base/metrics/crc32c.h"
#include "convseq/base/metrics/protobuf.h"

namespace convseq {
namespace fs = std::filesystem;
using Time = std::chrono::system_clock::time_point;
namespace {

// The numbers of the fields in tensorboard/compat/proto/{event,summary,tensor,tensor_shape}.proto.
enum Field {
  kEventWallTime = 1,
  kEventStep = 2,
  kEventFileVersion = 3,
  kEventSummary = 5,
  kEventSessionLog = 7,
  kSessionLogStatus = 1,
  kSummaryValue = 1,
  kValueTag = 1,
  kValueSimpleValue = 2,
  kValueTensor = 8,
  kValueMetadata = 9,
  kMetadataPluginData = 1,
  kPluginDataName = 1,
  kTensorType = 1,
  kTensorShape = 2,
  kTensorStrings = 8,
  kShapeDim = 2,
  kDimSize = 1,
};
constexpr int kSessionStart = 1;
constexpr int kStringType = 7;

std::string little_endian(uint64_t value, size_t bytes) {
  return {reinterpret_cast<const char*>(&value), bytes};
}

// TFRecord masks the checksum, because the CRC of data that includes its own CRC is a poor one.
std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xA282EAD8, 4);
}

// [length, 8 bytes][its checksum, 4][content][its checksum, 4]
std::string tf_record(std::string_view content) {
  const std::string length = little_endian(content.size(), 8);
  return length + masked_crc(length) + std::string(content) + masked_crc(content);
}

int64_t microseconds(Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

// TensorBoard reads the files of a folder in the order of their names: the time comes first.
fs::path new_file(const fs::path& folder, Time now) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_to("create", folder, error.value());
  const int64_t micros = microseconds(now);
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  return folder / fmt::format("events.out.tfevents.{}.{:06}.{}.{}", micros / 1'000'000,
                              micros % 1'000'000, host.data(), ::getpid());
}

}  // namespace

TensorBoard::TensorBoard(const fs::path& folder, TensorBoardOptions options)
    : options_(std::move(options)), file_(new_file(folder, options_.clock())) {
  append(event(0).text(kEventFileVersion, "brain.Event:2"));
  if (options_.resumed_step) {
    append(
        event(*options_.resumed_step + 1)
            .message(kEventSessionLog, ProtoMessage().integer(kSessionLogStatus, kSessionStart)));
  }
}

void TensorBoard::scalars(int64_t step, std::span<const Scalar> values) {
  ProtoMessage summary;
  for (const Scalar& scalar : values) {
    summary.message(kSummaryValue,
                    ProtoMessage()
                        .text(kValueTag, scalar.tag)
                        .number(kValueSimpleValue, static_cast<float>(scalar.value)));
  }
  append(event(step).message(kEventSummary, summary));
}

void TensorBoard::text(int64_t step, std::string_view tag, std::string_view markdown) {
  const auto one = ProtoMessage().integer(kDimSize, 1);
  const auto tensor = ProtoMessage()
                          .integer(kTensorType, kStringType)
                          .message(kTensorShape, ProtoMessage().message(kShapeDim, one))
                          .text(kTensorStrings, markdown);
  const auto plugin = ProtoMessage().text(kPluginDataName, "text");
  const auto value =
      ProtoMessage()
          .text(kValueTag, tag)
          .message(kValueTensor, tensor)
          .message(kValueMetadata, ProtoMessage().message(kMetadataPluginData, plugin));
  append(event(step).message(kEventSummary, ProtoMessage().message(kSummaryValue, value)));
}

ProtoMessage TensorBoard::event(int64_t step) const {
  ProtoMessage message;
  message.number(kEventWallTime, static_cast<double>(microseconds(options_.clock())) / 1e6);
  if (step != 0) message.integer(kEventStep, step);  // protobuf leaves a zero out
  return message;
}

void TensorBoard::append(const ProtoMessage& event) { file_.append(tf_record(event.bytes())); }

}  // namespace convseq
