#!/usr/bin/env bash
# Draws the training losses of several runs (metrics.jsonl) as one SVG. Needs gnuplot.
#   tools/plot_curves.sh docs/pretrain-curves.svg bench/results/curves/*.jsonl
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: tools/plot_curves.sh OUT.svg METRICS.jsonl..." >&2; exit 2; }
command -v gnuplot > /dev/null || { echo "plot_curves: gnuplot is not installed (Debian and Ubuntu: apt-get install gnuplot-nox)" >&2; exit 2; }
out=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lines=()
for file in "$@"; do
  name=$(basename "$file" .jsonl)
  sed -n 's/.*"step":\([0-9]*\),"loss":\([0-9.e+-]*\),.*/\1 \2/p' "$file" > "$work/$name"
  lines+=("'$work/$name' with lines linewidth 1.5 title '${name//_/ }'")
done
gnuplot << END
set terminal svg size 800,480 background '#ffffff' font 'sans-serif,13'
set output '$out'
set xlabel 'step'
set ylabel 'training loss (nats per target token)'
set grid linecolor '#dddddd'
set key top right
plot $(IFS=,; echo "${lines[*]}")
END
