#!/usr/bin/env bash
# Is it the attention or the pre-training? A tiny light model and a tiny Transformer are pre-trained on a synthetic
# corpus and fine-tuned on two tasks, with and without that pre-training: the study `demo`, minutes on two cores.
# Half of the test texts of `lexical` use judging words that its training set never shows; `pair_1` compares two texts.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(readlink -f build/convseq)
out=build/demo
# Waiting threads sleep, so that other processes can use the cores.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
"$program" version
echo; "$program" study plan demo --out "$out"
echo; "$program" study run demo --out "$out" --jobs 2
"$program" study report demo --out "$out" > /dev/null
echo; "$program" study status demo --out "$out" --scores
echo; echo "Everything is in $out; the report is $out/report.html. Next: build/convseq study run synthetic --jobs 2"
