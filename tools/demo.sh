#!/usr/bin/env bash
# Is it the attention or the pre-training? The study `demo`: a small light model and a small Transformer, with and
# without pre-training, on two synthetic tasks; then five comments for a model that comes with the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/convseq
out=build/demo
filter=models/toxicity-mini
jobs=$(($(nproc) < 8 ? $(nproc) : 8))
# Waiting threads sleep, so that other processes can use the cores.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}

"$program" version
echo; "$program" study plan demo --out "$out"
echo; "$program" study run demo --out "$out" --jobs "$jobs" --device cpu
"$program" study report demo --out "$out" > /dev/null

cat <<'TEXT'

Is it the attention or the pre-training? Mean test accuracy over three seeds, each model at the learning rate chosen on validation

  lexical        is the one judging word kind or rude? Training never shows half of the words of the test
  long_range_4   do two judgements, four words apart, agree?

TEXT
# Rows of the score table: part, task, model, then per start a mean and, in parentheses, its number of runs.
"$program" study status demo --out "$out" --scores | awk '
  function bar(score,   text, i) {
    text = sprintf("%.3f ", score)
    for (i = 1; i <= 20; ++i) text = text (i <= score * 20 + 0.5 ? "#" : ".") (i == 10 ? "|" : "")
    return text
  }
  BEGIN { printf "  %-14s %-13s %-29s %s\n", "task", "model", "from scratch", "pre-trained (| is chance)" }
  $1 == "demo" && /\(/ {
    gsub(/\([^)]*\)/, "")
    printf "  %-14s %-13s %-29s %s\n", $2, $3, bar($4), bar($5)
  }'
echo; echo "The report, with intervals and plots: $out/report.html"

echo; echo "Five comments and the model $filter:"
comments="$out/comments.txt"
cat > "$comments" <<'TEXT'
Thank you, the new introduction is much easier to follow.
You are a pathetic idiot, and everything you write is garbage.
This paragraph is rubbish, and so is its source.
Go back to school before you edit here.
Please stop calling each other idiots.
TEXT
"$program" predict "$filter" "$comments" --output-format tsv --quiet | awk -F '\t' '
  NR == 1 { for (i = 3; i <= NF; ++i) column[$i] = i }
  NR > 1 { printf "  %-10s %.2f\n", $2, $column[$2] }' | paste -d ' ' - "$comments"
echo "It goes by the words, so the last answer is wrong: $filter/README.md has scores and limits."
