#!/usr/bin/env bash
# Does fine-tuning collapse to a constant answer? Pre-trains paper-light-mini, then fine-tunes it on SST-2 and SNLI
# in fp32 at the default settings, with and without that pre-training.
#   tools/finetune_real.sh OUT DATA TOKENIZER SHARDS VALIDATION_SHARDS [STEPS] [TASKS] [STARTS]
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 data=$2 tokenizer=$3 shards=$4 validation=$5 steps=${6:-3000} tasks=${7:-snli sst2} starts=${8:-pretrained scratch}
mkdir -p "$out"
model=paper-light-mini
work=build/finetune_real
rm -rf "$work"
build/convseq pretrain "$work/pretrained" --model "$model" --corpus "$shards" --tokenizer "$tokenizer" \
  --validation "$validation" --batch 64 --steps "$steps" --precision bf16 --threads 4 --quiet --json \
  | tee "$out/pretrain.json"
for task in $tasks; do
  for start in $starts; do
    from=(--from "$work/pretrained")
    [ "$start" = scratch ] && from=(--model "$model" --tokenizer "$tokenizer")
    build/convseq finetune "$work/$task-$start" "$task" --data "$data" "${from[@]}" --precision fp32 --schedule constant --quiet --json \
      > "$out/$task-$start.json"
    cp "$work/$task-$start/metrics.jsonl" "$out/$task-$start.jsonl"
    grep -o '"metric":"accuracy","value":[0-9.]*' "$out/$task-$start.json" || true
    grep -c '"validation_collapsed":1' "$out/$task-$start.jsonl" || true
  done
done
