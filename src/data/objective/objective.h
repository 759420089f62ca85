#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "convseq/base/random.h"
#include "convseq/data/example.h"

namespace convseq {

struct ExampleLengths {
  int64_t source = 0;
  int64_t target = 0;
  bool operator==(const ExampleLengths&) const = default;
};

// What pre-training asks of a model: how a segment of text becomes a source and a target. Lengths
// are a function of the segment's length alone, so a stream of full segments has batches of one
// shape. Another objective is one more file. Several threads may share one.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual ExampleLengths lengths(int64_t segment_length) const = 0;
  virtual std::string describe(int64_t segment_length) const = 0;  // one line for the log
  virtual std::string identity() const = 0;  // differs where the examples of a segment would
  virtual void make(std::span<const int32_t> segment, Random& random, Example& example) const = 0;

  // The longest segment whose example fits into `room`.
  int64_t segment_length(ExampleLengths room) const;
};

}  // namespace convseq
