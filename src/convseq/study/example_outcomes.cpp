#include "convseq/study/example_outcomes.h"

#include <algorithm>
#include <span>

namespace convseq {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Bit i is the lowest-first bit i % 8 of byte i / 8.
std::string packed_bits(const std::vector<uint8_t>& values) {
  std::vector<uint8_t> bytes((values.size() + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) bytes[i / 8] |= static_cast<uint8_t>(1u << (i % 8));
  }
  return to_base64(bytes);
}

std::vector<uint8_t> unpacked_bits(const std::string& text, size_t count, uint8_t one) {
  const std::vector<uint8_t> bytes = from_base64(text);
  require(bytes.size() == (count + 7) / 8, "{} bytes hold no bits of {} examples", bytes.size(),
          count);
  std::vector<uint8_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = (bytes[i / 8] >> (i % 8) & 1) != 0 ? one : 0;
  }
  return values;
}

}  // namespace

std::string to_base64(std::span<const uint8_t> bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 3; ++j) group = group << 8 | (j < bytes.size() ? bytes[j] : 0u);
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

std::vector<uint8_t> from_base64(std::string_view text) {
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : text.substr(0, text.find('='))) {
    const size_t value = kDigits.find(digit);
    require(value != kDigits.npos, "\"{}\" is no base64", brief_text(text));
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> count & 255));
  }
  return bytes;
}

Json ExampleOutcomes::to_json() const {
  Json json = {{"metric", metric}, {"examples", values.size()}};
  const bool binary =
      std::all_of(values.begin(), values.end(), [](uint8_t v) { return v == 0 || v == 255; });
  json[binary ? "bits" : "bytes"] = binary ? packed_bits(values) : to_base64(values);
  if (!positives.empty()) json["positives"] = packed_bits(positives);
  return json;
}

ExampleOutcomes ExampleOutcomes::from_json(const JsonObject& json) {
  json.allow_only({"metric", "examples", "bits", "bytes", "positives"});
  ExampleOutcomes found{.metric = json.get<std::string>("metric"), .values = {}, .positives = {}};
  const auto count = json.get<size_t>("examples");
  found.values = json.has("bits") ? unpacked_bits(json.get<std::string>("bits"), count, 255)
                                  : from_base64(json.get<std::string>("bytes"));
  if (found.values.size() != count) json.refuse("bytes", "are not {}", count);
  if (json.has("positives")) {
    found.positives = unpacked_bits(json.get<std::string>("positives"), count, 1);
  }
  return found;
}

}  // namespace convseq
