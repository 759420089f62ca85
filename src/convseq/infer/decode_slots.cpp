#include "convseq/infer/decode_slots.h"

#include <algorithm>

namespace convseq {
namespace {

constexpr size_t kMostFree = 4;  // each keeps the keys and values of a batch

}  // namespace

std::unique_ptr<DecodeSlot> DecodeSlots::take(const DecodeShape& shape) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& each) { return each->shape() == shape; });
  if (found == free_.end()) return std::make_unique<DecodeSlot>(model_, shape, options_);
  auto slot = std::move(*found);
  free_.erase(found);
  return slot;
}

void DecodeSlots::give_back(std::unique_ptr<DecodeSlot> slot) {
  if (slot->was_refused()) options_.captures = false;  // so would the next one be
  if (!slot->is_reusable()) return;
  free_.push_front(std::move(slot));
  if (free_.size() > kMostFree) free_.pop_back();
}

}  // namespace convseq
