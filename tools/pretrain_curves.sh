#!/usr/bin/env bash
# Does every family train? Pre-trains base-size models for a few hundred steps and keeps their metrics.
#   tools/pretrain_curves.sh OUT SHARDS TOKENIZER VALIDATION_SHARDS STEPS FAMILY...
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 shards=$2 tokenizer=$3 validation=$4 steps=$5
shift 5
mkdir -p "$out"
for family in "$@"; do
  run=build/curves/$family
  rm -rf "$run"
  build/convseq pretrain "$run" --model "paper-$family-base" --corpus "$shards" --tokenizer "$tokenizer" \
    --validation "$validation" --validate-every "$steps" --steps "$steps" --batch 64 --precision bf16 \
    --lr 1e-2 --warmup 100 --log-every 5 --save-every 1000000 --threads 4
  cp "$run/metrics.jsonl" "$out/pretrain-$family-base.jsonl"
  rm -rf "$run"
done
