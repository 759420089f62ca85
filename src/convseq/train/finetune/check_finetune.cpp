#include "convseq/train/finetune/check_finetune.h"

#include <fmt/ranges.h>

#include "convseq/data/task/task_labels.h"
#include "convseq/spec/vocabulary_check.h"
#include "convseq/train/finetune/finetune_examples.h"
#include "convseq/train/run/training_checkpoint.h"

namespace convseq {
namespace fs = std::filesystem;

void check_options(const FinetuneOptions& options, const Tokenizer& tokenizer, int processes) {
  check_vocabulary(options.model, tokenizer.vocabulary(), options.tokenizer.string());
  if (!options.from.empty() && options.tokenizer != options.from &&
      fs::exists(options.from / "spiece.model")) {
    require(Tokenizer::load(options.from).fingerprint() == tokenizer.fingerprint(),
            "{}: is another tokenizer than the one {} was trained with", options.tokenizer.string(),
            options.from.string());
  }
  require(options.form == AnswerForm::Pooled || options.model.decoder_layers > 0,
          "{}: has no decoder to write answers with; use {}",
          options.from.empty() ? "the model" : options.from.string(),
          OptionName("form", name_of(AnswerForm::Pooled)));
  if (options.form == AnswerForm::Text) require_labels_fit(options.task, tokenizer);
  require(options.form == AnswerForm::Pooled || !options.is_multi_label(),
          "{}: is a multi-label task, which needs a head with a sigmoid per label; use {}",
          options.task.name, OptionName("form", name_of(AnswerForm::Pooled)));
  require(options.form == AnswerForm::Text || options.task.labels.size() >= 2 ||
              (options.is_multi_label() && !options.task.labels.empty()),
          "{}: a pooled head needs a list of at least two labels", options.task.name);
  for (const Metric metric : options.task.metrics) {
    require(!needs_probabilities(metric) || !options.task.labels.empty(),
            "{}: the metric {} needs a list of labels; name them with {}", options.task.name,
            name_of(metric), OptionName("labels"));
  }
  require(options.held_out >= 0 && options.held_out < 1,
          "the share to hold out is {}; allowed: 0 to below 1", options.held_out);
  for (const auto& [label, weight] : options.class_weights) {
    require(class_of(options.task, label) < std::ssize(options.task.labels),
            "{} {}={}: {} is not a label of {}; its labels: {}", OptionName("class_weights"), label,
            weight, label, options.task.name,
            options.task.labels.empty() ? "none"
                                        : fmt::format("{}", fmt::join(options.task.labels, ", ")));
    require(weight > 0, "{} {}={}: must be more than 0", OptionName("class_weights"), label,
            weight);
  }
  for (const std::string& split : options.evaluate) {  // not only when the training has ended
    if (!options.task.has_split(split)) continue;
    for (const fs::path& file : options.task.files_of(split)) {
      find_task_file(options.task, file, options.reader.data);
    }
  }
  check_batch(options.batch_rows, processes);
  const Checkpoints checkpoints(options.out, options.keep);
  checkpoints.refuse_input(options.from);
  checkpoints.refuse_input(options.tokenizer);
  std::error_code error;
  require(options.from.empty() || !fs::equivalent(options.out, options.from, error) || error,
          "{}: is the model to start from; write to another folder", options.out.string());
}

}  // namespace convseq
