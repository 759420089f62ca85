// Config files, outputs and the texts of a corpus.
#include "bad_input.h"

namespace convseq::testing {

std::vector<BadInput> bad_config_files() {
  const std::string pretrain = "pretrain --config ";
  return {
      {pretrain + "nowhere.json", {"nowhere.json", "No such file"}},
      {pretrain + "corpus", {"corpus"}},
      {pretrain + "empty.json", {"empty.json"}},
      {pretrain + "list.json", {"list.json", "object"}},
      {pretrain + "deep.json", {"deep.json"}},
      {pretrain + "options/unknown.json", {"unknown.json", "bach", "batch"}},
      {pretrain + "options/twice.json", {"twice.json", "batch", "twice"}},
      {pretrain + "options/object.json", {"object.json", "batch"}},
      {pretrain + "options/range.json", {"--batch", "0"}},
      {pretrain + "options/flag.json", {"flag.json", "recompute", "3"}},
      {pretrain + "options/itself.json", {"itself.json", "config"}},
      {pretrain + "options/missing.json", {"--corpus"}},
      {pretrain + "options/good.json --config options/good.json", {"--config", "twice"}},
      {"pretrain --config", {"--config"}},
      {"version --config options/good.json", {"good.json", "version"}},
      {"bench ops --config options/bench.json", {"--channels", "-768"}},
  };
}

std::vector<BadInput> bad_outputs() {
  const std::string pretrain = "--corpus corpus --tokenizer tokenizer --device cpu --steps 2";
  const std::string finetune = " tasks/pair_1/task.json --from model --device cpu --steps 2";
  const std::string evaluate = "evaluate model tasks/pair_1/task.json --device cpu --predictions ";
  return {
      {"pretrain foreign " + pretrain, {"foreign", "config.json"}},
      {"pretrain lines.txt " + pretrain, {"lines.txt"}},
      {"pretrain corpus " + pretrain, {"corpus"}},
      {"pretrain loop " + pretrain, {"loop"}},
      {"pretrain $(printf %0300d 1) " + pretrain, {"name too long"}},
      {"pretrain /dev/null " + pretrain, {"/dev/null"}},
      {"pretrain '' " + pretrain, {"output folder has no name"}},
      {"pretrain model " + pretrain + " --seed 9", {"model"}},
      {"finetune model" + finetune, {"model"}},
      {"finetune tuned" + finetune, {"tuned"}},
      {"finetune foreign" + finetune, {"foreign", "config.json"}},
      {"finetune tasks/pair_1" + finetune, {"tasks/pair_1"}},
      {"convert --from hf-t5 hf hf", {"hf"}},
      {"convert --from hf-t5 hf hf --force", {"hf"}},
      {"convert --from hf-t5 hf . --force", {".", "hf"}},
      {"convert --from hf-t5 hf foreign --force", {"foreign", "notes.txt"}},
      {"convert --from hf-t5 hf tuned", {"tuned"}},
      {"convert --from hf-t5 hf lines.txt", {"lines.txt"}},
      {"tokenizer train corpus --out tokenizer", {"tokenizer", "force"}},
      {"tokenizer train corpus --out foreign --force", {"foreign", "config.json"}},
      {"tokenizer train corpus --out corpus/inner", {"corpus/inner"}},
      {"tokenize corpus foreign --tokenizer tokenizer", {"foreign", "config.json"}},
      {"tokenize corpus corpus --tokenizer tokenizer", {"corpus"}},
      {"tokenize lines.txt shards --tokenizer tokenizer", {"shards"}},
      {"tokenize corpus shards --tokenizer tokenizer --field title", {"shards", "title"}},
      {"tokenize corpus shards --tokenizer tokenizer --shard-tokens 100",
       {"shards", "size of shards"}},
      {"tokenize corpus shards --tokenizer other-tokenizer", {"shards", "tokenizer"}},
      {"tokenize - shards --tokenizer tokenizer < lines.txt", {"shards"}},
      {"synth tasks tasks", {"tasks"}},
      {"synth tasks lines.txt/out", {"lines.txt"}},
      {evaluate + "nowhere/p.jsonl", {"nowhere/p.jsonl"}},
      {evaluate + "tasks/pair_1/test.jsonl", {"tasks/pair_1/test.jsonl"}},
      {evaluate + "to-test.jsonl", {"to-test.jsonl"}},
      {evaluate + "loop", {"loop"}},
      {evaluate + "/dev/full",
       {"/dev/full", "No space left on device"},
       1,
       "",
       /*prints_before=*/true},
      {"bench ops --rounds 1 --device cpu --json nowhere/x.json", {"nowhere/x.json"}},
      {"bench step --device cpu --peer good.jsonl --json good.jsonl", {"good.jsonl"}},
      {"bench finetune --shapes nowhere/shapes.json", {"nowhere/shapes.json"}},
      {"bench length --device cpu --plot nowhere/x.svg", {"nowhere/x"}},
      {"bench decode --device cpu --plot plot.png", {"plot.png", ".svg"}},
  };
}

std::vector<BadInput> bad_corpora() {
  const std::string train = "tokenizer train --out out --vocabulary 300 ";
  const std::string tokenize = "tokenize --out out --tokenizer tokenizer --quiet ";
  const std::string pretrain =
      "pretrain out --tokenizer tokenizer --device cpu --batch 2 --source 32 --target 16 --steps "
      "2 ";
  return {
      {train + "nowhere.txt", {"nowhere.txt"}},
      {train + "'nowhere/*.json.gz'", {"nowhere/*.json.gz"}},
      {train + "empty.txt", {"empty.txt"}},
      {train + "empty", {"empty"}},
      {train + "good.csv", {"good.csv"}},
      {train + "loop", {"loop"}},
      {train + "latin1.txt", {"latin1.txt:2", "UTF-8"}},
      {train + "broken.jsonl", {"broken.jsonl:2"}},
      {train + "no-text.jsonl", {"no-text.jsonl:1", "text"}},
      {train + "good.jsonl --field title", {"good.jsonl:1", "title"}},
      {train + "cut.txt.gz", {"cut.txt.gz"}},
      {train + "longest.txt.zst", {"longest.txt.zst:1", "16"}},
      {train + "corpus --max-memory 1M", {"--max-memory"}},
      {tokenize + "corpus --field headline", {"headline"}},
      {tokenize + "latin1.txt", {"latin1.txt:2", "UTF-8"}},
      {tokenize + "- < /dev/null", {"standard input"}},
      {"tokenize corpus out --tokenizer lines.txt", {"lines.txt"}},
      {"tokenize corpus out --tokenizer flipped-tokenizer", {"flipped-tokenizer"}},
      {"tokenize corpus out --tokenizer bare-tokenizer/tokenizer_config.json", {"bare-tokenizer"}},
      {"tokenizer encode empty-tokenizer lines.txt", {"empty-tokenizer"}},
      {"tokenizer encode tokenizer /dev/zero", {"/dev/zero"}},
      {"tokenizer encode tokenizer cut.txt.gz", {"cut.txt.gz"}, 2, "", true},
      {"tokenizer encode tokenizer - < latin1.txt", {"standard input:2", "UTF-8"}, 2, "", true},
      {"tokenizer decode tokenizer lines.txt", {"lines.txt:1"}},
      {"tokenizer decode tokenizer ids.txt", {"ids.txt:1", "99999"}},
      {"tokenizer decode tokenizer overflow.txt", {"overflow.txt:1", "99999999999999999999"}},
      {pretrain + "--corpus corpus=nan shards=1", {"corpus", "nan"}},
      {pretrain + "--corpus latin1.txt", {"latin1.txt:2", "UTF-8"}, 2, "", false, "out"},
      {pretrain + "--corpus corpus --validation nowhere", {"nowhere"}},
      {pretrain + "--corpus other-shards", {"other-shards", "tokenizer"}},
      {pretrain + "--corpus cut-shards", {"cut-shards/00000.tokens"}},
      {pretrain + "--corpus flipped-shards", {"flipped-shards/00000.tokens"}, 2, "", false, "out"},
      {pretrain + "--corpus foreign-shards", {"foreign-shards/00000.tokens"}},
      {pretrain + "--corpus missing-shards", {"missing-shards/00000.tokens"}},
      {pretrain + "--corpus unfinished-shards", {"unfinished-shards"}},
      {pretrain + "--corpus manifest/broken", {"manifest/broken/manifest.json"}},
      {pretrain + "--corpus manifest/count", {"manifest/count"}},
  };
}

}  // namespace convseq::testing
