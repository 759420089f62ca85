#include "convseq/train/finetune/finetune_identity.h"

#include "convseq/base/checksum.h"
#include "convseq/base/file/mapped_file.h"

namespace convseq {
namespace {

// A checksum of lists of tokens and texts, which detects changed data of the same size.
class Fingerprint {
 public:
  template <class Items>
  void add(const Items& items) {
    each_.push_back(crc32_of(std::as_bytes(std::span(items))));
  }
  std::string text() const {
    return fmt::format("{:08x}", crc32_of(std::as_bytes(std::span(each_))));
  }

 private:
  std::vector<uint32_t> each_;
};

std::string fingerprint_of(const std::vector<Example>& examples) {
  Fingerprint fingerprint;
  for (const Example& example : examples) {
    fingerprint.add(example.source);
    fingerprint.add(example.target);
  }
  return fingerprint.text();
}

std::string fingerprint_of(const TaskSplit& split) {
  Fingerprint fingerprint;
  for (const TokenIds& source : split.sources) fingerprint.add(source);
  for (const TaskExample& example : split.examples) {
    fingerprint.add(example.target);
    for (const std::string& label : example.labels) fingerprint.add(label);
  }
  return fingerprint.text();
}

std::string describe_class_weights(const FinetuneOptions& options) {
  if (options.balance_classes) return "balanced";
  std::string text;
  for (const auto& [label, weight] : options.class_weights) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", label, weight);
  }
  return text.empty() ? "none" : text;
}

std::string describe_first_weights(const FinetuneOptions& options) {
  if (options.from.empty()) return "none";
  return fmt::format("{:08x}", crc32_of(MappedFile(options.from / kWeightsFile).bytes()));
}

}  // namespace

RunIdentity identity_of(const FinetuneOptions& options, const Tokenizer& tokenizer,
                        const std::vector<Example>& examples, const TaskSplit& validation) {
  size_t tokens = 0;
  for (const Example& example : examples) tokens += example.source.size() + example.target.size();
  RunIdentity identity = convseq::identity_of(static_cast<const TrainingOptions&>(options));
  const RunIdentity more = {
      {"tokenizer", fmt::format("{:08x}", tokenizer.fingerprint())},
      {"task", options.task.name},
      {"first weights", describe_first_weights(options)},
      {"held-out share",
       options.task.has_split("validation") ? "none" : fmt::format("{}", options.held_out)},
      {"class weights", describe_class_weights(options)},
      {"frozen encoder", options.freeze_encoder ? "yes" : "no"},
      {"source template", options.task.source.pattern()},
      {"target template", options.task.target.pattern()},
      {"examples", fmt::format("{} ({} tokens)", examples.size(), tokens)},
      {"data", fingerprint_of(examples)},
      {"batch", std::to_string(options.batch_rows)},
      // The best score so far is compared with those to come.
      {"metric", std::string(name_of(options.task.metrics.front()))},
      {"validation data", fingerprint_of(validation)}};
  identity.insert(identity.end(), more.begin(), more.end());
  if (options.is_multi_label())
    identity.push_back({"label kind", std::string(name_of(LabelKind::Multi))});
  return identity;
}

}  // namespace convseq
