#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/data/example.h"
#include "convseq/data/objective/objective_kind.h"
#include "convseq/data/objective/objective_option.h"

namespace convseq {

// The pre-training objective: how a segment of text becomes a source and a target. Each objective
// is one file, one value of ObjectiveKind and one line of the factory. Several threads may share
// one object.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual ObjectiveKind kind() const = 0;
  virtual std::vector<ObjectiveNumber> numbers() const = 0;  // its options
  virtual bool uses_sentinels() const = 0;

  // The longest source and target that a segment can give. They depend on the length of the segment
  // alone, so all batches of full segments have one shape.
  virtual ExampleLengths lengths(int64_t segment_length) const = 0;
  // The expected length of a source, from which a limit of tokens is turned into steps.
  virtual double mean_source_length(int64_t segment_length) const {
    return static_cast<double>(lengths(segment_length).source);
  }

  virtual std::string describe(int64_t segment_length) const = 0;  // one line for the log
  virtual std::string fingerprint() const = 0;  // differs where the examples of a segment differ
  virtual void make(std::span<const int32_t> segment, Random& random, Example& example) const = 0;

  // The longest segment whose example fits into `room`.
  int64_t segment_length(ExampleLengths room) const;

  Json to_json() const;  // {"objective": "span_corruption", "noise": 0.15, "span": 3.0}
};

}  // namespace convseq
