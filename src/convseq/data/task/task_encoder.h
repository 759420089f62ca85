#pragma once

#include "convseq/data/example.h"
#include "convseq/data/task/task_reader.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

// Examples of a task as ids, never longer than the task allows. Where a source is too long, the
// field that the task names under `cut`, or else the field with the most tokens, loses its last
// tokens, until the whole fits: prefix and the other fields stay, so that both parts of a pair are
// seen. Where that field is used up, the longest of the others follows.
class TaskEncoder {
 public:
  TaskEncoder(const Task& task, const Tokenizer& tokenizer);

  Example encode(const TaskExample& example);  // both sides closed by an EOS

  struct Source {
    std::vector<int32_t> ids;  // closed by an EOS
    int64_t tokens_cut = 0;
  };
  Source encode_source(const TextTemplate::Rendered& source) const;

  void add_to(RowTotals& totals) const {  // what was cut
    totals.sources_cut += sources_cut_;
    totals.targets_cut += targets_cut_;
  }

 private:
  // Beyond 256 KiB of a field, far more than a model reads. Returns about how many tokens they had.
  int64_t drop_ends_of_long_fields(TextTemplate::Rendered& source) const;
  std::vector<int32_t> fit(TextTemplate::Rendered source) const;
  TextTemplate::Span field_to_cut(const std::vector<TextTemplate::Span>& spans,
                                  const std::vector<Token>& tokens) const;

  const Tokenizer& tokenizer_;
  bool has_target_text_;                // label sets are never written as text
  size_t source_limit_, target_limit_;  // without the EOS
  size_t cut_first_;  // the place of `cut` among the source's fields, or past them
  int64_t sources_cut_ = 0, targets_cut_ = 0;
};

// A label that is cut can never be answered: an Error names the first label of the task that is
// longer than its targets may be. For models that write their answer; a pooled head needs no
// tokens.
void require_labels_fit(const Task& task, const Tokenizer& tokenizer);

}  // namespace convseq
