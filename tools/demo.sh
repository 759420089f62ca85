#!/usr/bin/env bash
# The main job on data of our own, within minutes on two cores: is it the attention or the pre-training? A tiny
# light model and a tiny Transformer read a synthetic corpus, then learn two tasks, with and without that reading.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(readlink -f build/convseq)
out=build/demo
rm -rf "$out"
mkdir -p "$out"
cd "$out"
# Threads that wait asleep leave the cores to others.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
models="light transformer"
tasks="lexical scope_0"
"$program" version

echo; echo "A corpus of our own, its tokenizer and its token shards"
"$program" synth corpus corpus --documents 20000
"$program" tokenizer train corpus --out tokenizer --vocabulary 700 --lines 4000
"$program" tokenize corpus shards --tokenizer tokenizer

echo; echo "Tasks whose labels hold by construction; half of the test texts judge with words that training never showed"
"$program" synth tasks tasks --family lexical,scope --windows 0

teach() {  # MODEL TASK pretrained|scratch
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
    teach "$model" "$task" scratch
    teach "$model" "$task" pretrained
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
