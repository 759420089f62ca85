// Labelled data: tables and task files.
#include "bad_input.h"

namespace convseq::testing {

std::vector<BadInput> bad_tables() {
  const std::string templates = " --source 'review: {text}' --target '{label}'";
  const std::string labels = templates + " --labels good,bad";
  const std::string finetune = "finetune out --from model --device cpu --steps 2 ";
  return {
      {"task nowhere.csv" + templates, {"nowhere.csv"}},
      {"task loop.csv" + templates, {"loop.csv"}},
      {"task empty.csv" + templates, {"empty.csv"}},
      {"task good.parquet" + templates, {"good.parquet"}},
      {"task good.csv", {"good.csv", "--source", "text", "label"}},
      {"task good.csv --source '{text' --target '{label}'", {"{text"}},
      {"task good.csv --source '{text}' --target ''", {"target"}},
      {"task good.csv --source 'no field' --target '{label}'", {"no field"}},
      {"task good.csv" + templates + " --labels good", {"good.csv:3", "bad"}},
      {"task good.csv" + templates + " --labels ''", {"labels", "empty"}},
      {"task good.csv" + labels + " --metrics f1", {"f1", "--positive-label"}},
      {"task good.csv" + labels + " --positive-label fair", {"--positive-label", "fair"}},
      {"task no-header.csv" + templates, {"no-header.csv", "text"}},
      {"task same-names.csv" + templates, {"same-names.csv", "text"}},
      {"task wide-row.csv" + templates, {"wide-row.csv:3", "3"}},
      {"task open-quote.csv" + templates, {"open-quote.csv:2", "quote"}},
      {"task latin1.csv" + templates, {"latin1.csv:2", "UTF-8"}},
      {"task no-label.csv" + templates, {"no-label.csv:3", "label"}},
      {"task null.jsonl" + templates, {"null.jsonl:2", "label"}},
      {"task twice.jsonl" + templates, {"twice.jsonl:1", "text", "twice"}},
      {"task no-text.jsonl" + templates, {"no-text.jsonl:1", "text"}},
      {"task longest.jsonl.zst" + templates, {"longest.jsonl.zst:1", "16"}},
      {"task semicolons.csv --source '{text}' --target '{stars}'", {"semicolons.csv", "stars"}},
      {"task tabs.csv" + templates, {"tabs.csv"}},
      {"task two-labels.txt" + templates, {"two-labels.txt:2", "label"}},
      {"task all-bad.csv --on-bad-line skip" + labels, {"all-bad.csv"}},
      {"task --train good.csv --test nowhere.csv" + templates, {"nowhere.csv"}},
      {finetune + "good.csv --labels good,bad", {"good.csv", "--source"}},
      {finetune + "long-label.csv --max-target-tokens 3" + templates +
           " --labels good,extraordinarily",
       {"good", "--max-target-tokens"}},
      {finetune + "good.csv --held-out 0.99" + labels, {"--held-out"}},
      {finetune + "--validation good.csv" + labels, {"good.csv", "--train"}},
      {"evaluate model good.csv", {"good.csv", "--source"}},
      {"evaluate model good.csv --answer labels" + templates, {"--labels"}},
      {"evaluate tuned good.csv", {"good.csv", "premise"}},
      {"evaluate tuned good.csv" + labels, {"good", "yes"}},
      {"evaluate tuned --test nowhere.jsonl", {"nowhere.jsonl"}},
      {"evaluate tuned --test tasks/pair_1/test.jsonl --split train", {"train", "test"}},
  };
}

std::vector<BadInput> bad_tasks() {
  return {
      {"task sst3", {"sst3", "sst2"}},
      {"task sst2", {"sst2", "--data"}},
      {"task sst2 --data nowhere", {"nowhere"}},
      {"task deep.json", {"deep.json"}},
      {"task model/config.json", {"model/config.json"}},
      {"task bad/unknown.json", {"bad/unknown.json", "sorce", "source"}},
      {"task bad/no-files.json", {"bad/no-files.json", "files"}},
      {"task bad/files-number.json", {"bad/files-number.json", "train"}},
      {"task bad/missing-file.json", {"missing-file", "gone.jsonl"}},
      {"task bad/two-targets.json", {"bad/two-targets.json", "answers", "target"}},
      {"task bad/label-twice.json", {"bad/label-twice.json", "yes"}},
      {"task bad/label-empty.json", {"bad/label-empty.json", "labels"}},
      {"task bad/metric-twice.json", {"bad/metric-twice.json", "accuracy"}},
      {"task bad/f1.json", {"bad/f1.json", "positive_label"}},
      {"task bad/positive.json", {"bad/positive.json", "perhaps"}},
      {"task bad/cut.json", {"bad/cut.json", "cut", "nothing"}},
      {"task bad/brace.json", {"bad/brace.json", "source"}},
      {"task bad/zero-tokens.json", {"bad/zero-tokens.json", "max_source_tokens", "0"}},
      {"task bad/huge-tokens.json", {"bad/huge-tokens.json", "max_target_tokens"}},
      {"task bad/drop-all.json", {"drop-all"}},
      {"task bad/category.json", {"genre"}},
      {"task bad/key-twice.json", {"bad/key-twice.json", "name", "twice"}},
      {"finetune out bad/no-train.json --from model", {"no-train", "train"}},
      {"finetune out tasks/pair_1/task.json --from model --max-target-tokens 1",
       {"--max-target-tokens", "1"}},
      {"finetune out tasks/pair_1/task.json --from model --max-source-tokens 1",
       {"--max-source-tokens"}},
      {"finetune out tasks/pair_1/task.json --from model --labels a,b", {"--labels", "pair_1"}},
      {"evaluate model bad/other-labels.json --device cpu", {"test.jsonl:1", "label"}},
  };
}

}  // namespace convseq::testing
