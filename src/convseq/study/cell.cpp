#include "convseq/study/cell.h"

#include "convseq/base/file/sha256.h"

namespace convseq {

std::string Cell::name() const {
  std::string text(name_of(kind()));
  const auto add = [&](const std::string& word) { text += (word.empty() ? "" : " ") + word; };
  add(label.model);
  if (kind() == CellKind::Finetune || label.start == Start::Self) {
    add(std::string(name_of(label.start)));
  }
  add(label.task);
  if (kind() != CellKind::Finetune) add(label.corpus);
  if (label.learning_rate > 0) add(fmt::format("lr={}", label.learning_rate));
  if (label.seed > 0) add(fmt::format("seed={}", label.seed));
  return text;
}

std::string cell_id(CellKind kind, const Json& inputs, int numerics) {
  // Of sorted keys, so that their order does not matter.
  const nlohmann::json canonical = {{"kind", name_of(kind)},
                                    {"numerics", numerics},
                                    {"inputs", nlohmann::json::parse(inputs.dump())}};
  return sha256_of(canonical.dump()).substr(0, 32);
}

}  // namespace convseq
