#!/usr/bin/env bash
# The main job on data of our own: a synthetic corpus becomes token shards, tasks get their baselines, and
# a tiny model of each family runs end to end.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(readlink -f build/convseq)
out=build/demo
rm -rf "$out"
"$program" version

echo; echo "A corpus of our own, its tokenizer and its token shards"
"$program" synth corpus "$out/corpus" --documents 5000
"$program" tokenizer train "$out/corpus" --out "$out/tokenizer" --vocabulary 500
"$program" tokenize "$out/corpus" "$out/shards" --tokenizer "$out/tokenizer"

echo; echo "Tasks whose labels hold by construction"
"$program" synth tasks "$out/tasks" --family lexical,long_range,pair

echo; echo "A tiny model of each family"
"$(dirname "$program")/tiny_end_to_end"
