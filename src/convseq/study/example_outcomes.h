#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/file/json_file.h"

namespace convseq {

// The score of each example of a split under one metric that is a mean over examples, from 0
// (wrong) to 255 (right). A file stores one bit per example where all are 0 or 255, else a byte.
struct ExampleOutcomes {
  std::string metric = {};           // "accuracy"; empty: none stored
  std::vector<uint8_t> values = {};  // in the order of the split
  std::vector<uint8_t> positives =
      {};  // 0 or 1: has the positive label; empty without such a label

  double value(size_t example) const { return values[example] / 255.0; }

  Json to_json() const;
  static ExampleOutcomes from_json(const JsonObject& json);
  bool operator==(const ExampleOutcomes&) const = default;
};

std::string to_base64(std::span<const uint8_t> bytes);
std::vector<uint8_t> from_base64(std::string_view text);  // throws an Error for other characters

}  // namespace convseq
