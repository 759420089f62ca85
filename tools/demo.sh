#!/usr/bin/env bash
# Is it the attention or the pre-training? A tiny light model and a tiny Transformer are pre-trained on a synthetic
# corpus and fine-tuned on two tasks, with and without that pre-training. It takes minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(readlink -f build/convseq)
out=build/demo
rm -rf "$out"
mkdir -p "$out"
cd "$out"
# Waiting threads sleep, so that other processes can use the cores.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
models="light transformer"
tasks="lexical scope_0"
"$program" version

echo; echo "A synthetic corpus, its tokenizer and its token shards"
"$program" synth corpus corpus --documents 20000
"$program" tokenizer train corpus --out tokenizer --vocabulary 700 --lines 4000
"$program" tokenize corpus shards --tokenizer tokenizer

echo; echo "Tasks; half of the test texts use judging words that the training set never shows"
"$program" synth tasks tasks --family lexical,scope --windows 0

fine_tune() {  # MODEL TASK pretrained|scratch
  local start=(--from "pretrained/$1")
  [ "$3" = pretrained ] || start=(--model "paper-$1-tiny" --tokenizer tokenizer)
  "$program" finetune "runs/$1-$2-$3" "tasks/$2/task.json" "${start[@]}" --epochs 3 --validation-limit 200 \
    --quiet --json > "$1-$2-$3.json" 2> "$1-$2-$3.log"
}

accuracy() {  # REPORT -> "0.785 [0.758, 0.812]", on the test split
  sed 's/.*"test":{"scores":\[{"metric":"[a-z0-9_]*","value":\([0-9.]*\),"low":\([0-9.]*\),"high":\([0-9.]*\),.*/\1 \2 \3/' "$1" |
    awk '{ printf "%.3f [%.3f, %.3f]", $1, $2, $3 }'
}

for model in $models; do
  echo; echo "Pre-training and fine-tuning: paper-$model-tiny"
  "$program" pretrain "pretrained/$model" --model "paper-$model-tiny" --corpus shards --tokenizer tokenizer \
    --source 128 --target 32 --batch 32 --steps 500 --save-every 500
  for task in $tasks; do
    fine_tune "$model" "$task" scratch
    fine_tune "$model" "$task" pretrained
  done
done

echo; echo "Accuracy on the test split, with 95% intervals"
printf '%-12s %-10s %-24s %-24s\n' model task "from scratch" pre-trained
for model in $models; do
  for task in $tasks; do
    printf '%-12s %-10s %-24s %-24s\n' "$model" "$task" "$(accuracy "$model-$task-scratch.json")" \
      "$(accuracy "$model-$task-pretrained.json")"
  done
done
echo; echo "Everything is in $out. Next: build/convseq evaluate $out/runs/light-scope_0-pretrained $out/tasks/scope_0/task.json"
