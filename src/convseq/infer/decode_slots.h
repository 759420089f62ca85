#pragma once

#include <list>
#include <memory>

#include "convseq/infer/decode_slot.h"

namespace convseq {

// Decode slots of a model. Those that are captured are used again for batches of their shape.
class DecodeSlots {
 public:
  DecodeSlots(Seq2Seq& model, const DecodeSlotOptions& options)
      : model_(model), options_(options) {}

  std::unique_ptr<DecodeSlot> take(const DecodeShape& shape);
  void give_back(std::unique_ptr<DecodeSlot> slot);

 private:
  Seq2Seq& model_;
  DecodeSlotOptions options_;
  std::list<std::unique_ptr<DecodeSlot>> free_;  // the most recently used first
};

}  // namespace convseq
