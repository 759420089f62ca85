#pragma once

#include "convseq/spec/presets.h"
#include "convseq/train/finetune.h"
#include "data/corpus/small_corpus.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq::testing {

class Finetuning : public ::testing::Test {
 protected:
  void SetUp() override { vocabulary_ = small_tokenizer(folder_).vocabulary().size(); }

  // Random documents with random labels, which a model can only memorise.
  Task task(int examples, std::vector<std::string> splits = {"train", "validation"}) {
    Json files;
    for (const std::string& split : splits) {
      std::string lines;
      for (int i = 0; i < examples; ++i) {
        const char* label = Random(5, {static_cast<uint64_t>(i)}).below(3) == 0 ? "green" : "old";
        lines += Json{{"text", small_document(i).substr(0, 60)}, {"label", label}}.dump() + "\n";
      }
      folder_.file(split + ".jsonl", lines);
      files[split] = split + ".jsonl";
    }
    const Json json = {{"name", "colours"},
                       {"description", "random labels"},
                       {"files", files},
                       {"source", "colour: {text}"},
                       {"target", "{label}"},
                       {"labels", {"green", "old"}},
                       {"metrics", {"accuracy", "macro_f1"}},
                       {"max_source_tokens", 48},
                       {"max_target_tokens", 6}};
    return find_task(folder_.file("task.json", json.dump()).string());
  }

  // The same documents, each with any of three labels.
  Task label_sets_task() {
    std::string lines;
    for (int i = 0; i < 32; ++i) {
      Json labels = Json::array();
      for (const char* label : {"old", "green", "round"}) {
        if (Random(9, {static_cast<uint64_t>(i), static_cast<uint64_t>(label[0])}).below(2) == 0)
          labels.push_back(label);
      }
      lines += Json{{"text", small_document(i).substr(0, 60)}, {"kinds", labels}}.dump() + "\n";
    }
    folder_.file("kinds.jsonl", lines);
    const Json json = {{"name", "kinds"},
                       {"files", {{"train", "kinds.jsonl"}, {"validation", "kinds.jsonl"}}},
                       {"source", "kinds: {text}"},
                       {"target", "{kinds}"},
                       {"label_kind", "multi"},
                       {"labels", {"green", "old", "round"}},
                       {"max_source_tokens", 48}};
    return find_task(folder_.file("kinds.json", json.dump()).string());
  }

  FinetuneOptions options(const std::string& out, const std::string& family = "paper-light") {
    FinetuneOptions options;
    options.out = folder_ / out;
    options.task = task(32);
    options.tokenizer = folder_ / "small.model";
    options.model = find_model_config(
        family + "-tiny",
        {fmt::format("vocab_size={}", vocabulary_), "d_model=32", "d_ff=64", "heads=2", "d_kv=16"});
    options.schedule.warmup_steps = 5;
    options.schedule.learning_rate = 2e-2;
    options.batch_rows = 16;
    options.limits.steps = 12;
    options.save_every = 4;
    options.log_every = 1;
    options.progress = false;
    return options;
  }

  static FinetuneOptions stopped_after(FinetuneOptions options, int steps) {
    options.stop = [steps, taken = 0]() mutable { return ++taken == steps; };
    return options;
  }

  TensorMap weights(const std::filesystem::path& model) const {
    return load_tensors(folder_ / model / kWeightsFile).tensors;
  }

  TempFolder folder_;
  int64_t vocabulary_ = 0;
};

}  // namespace convseq::testing
