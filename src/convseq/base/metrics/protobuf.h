#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace convseq {

static_assert(std::endian::native == std::endian::little, "protobuf's numbers are little-endian");

// Writes the protobuf wire format by hand: field after field, in the order of their numbers. A
// message within a message is added as its bytes.
class ProtoMessage {
 public:
  ProtoMessage& integer(int field, int64_t value) {
    return varint(key(field, kVarint)).varint(static_cast<uint64_t>(value));
  }
  ProtoMessage& number(int field, double value) {
    return varint(key(field, kFixed64)).raw(&value, sizeof value);
  }
  ProtoMessage& number(int field, float value) {
    return varint(key(field, kFixed32)).raw(&value, sizeof value);
  }
  ProtoMessage& text(int field, std::string_view value) {
    return varint(key(field, kLength)).varint(value.size()).raw(value.data(), value.size());
  }
  ProtoMessage& message(int field, const ProtoMessage& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };
  static uint64_t key(int field, WireType type) {
    return static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type);
  }
  // Seven bits per byte, lowest first; the eighth bit is set if more bytes follow.
  ProtoMessage& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7F) | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  ProtoMessage& raw(const void* data, size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }

  std::string bytes_;
};

}  // namespace convseq
