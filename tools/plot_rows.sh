#!/bin/sh
# Draws rows that `convseq bench length --json` or `convseq bench decode --json` wrote, of one file or several, as
# one SVG: for machines without gnuplot, and for the figures of docs/. Needs gnuplot.
#   tools/plot_rows.sh docs/length.svg bench/results/length-h200.json ...
set -eu
plot=$1
shift
rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
python3 - "$rows" "$@" <<'PYTHON'
import json, re, sys
folder, *files = sys.argv[1:]
for row in (row for file in files for row in json.load(open(file))["results"]):
    found = re.fullmatch(r"(encoder|step|decode)_([a-z]+)_(\d+)(_state|)", row["name"])
    if found:
        part, mixer, at, state = found.groups()
        print(at, row["value"], file=open(f"{folder}/{state[1:] or part}_{mixer}", "a"))
PYTHON
if ls "$rows"/state_* >/dev/null 2>&1; then
  parts="decode state" x="position" tics="(16, 32, 64, 128, 256, 512, 1024, 2048)"
else
  parts="encoder step" x="source length" tics="(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)"
fi
range=$(sort -n "$rows"/* | awk 'NR == 1 { low = $1 } { high = $1 } END { print low / 1.06 ":" high * 1.06 }')
mixers=$(ls "$rows" | sed 's/.*_//' | sort -u | tr '\n' ' ')
gnuplot <<GNUPLOT
title(part) = part eq "encoder" ? "Encoder alone" : part eq "step" ? "Whole training step" : \\
  part eq "decode" ? "Speed of decoding" : "Decode state"
label(part) = part eq "state" ? "bytes per sequence" : part eq "decode" ? "thousand tokens per second" : \\
  "thousand source tokens per second"
set terminal svg size 900,400 dynamic background "white" font "sans-serif,13"
set output "$plot"
set logscale x
set xrange [$range]
set xlabel "$x"
set grid linecolor "#dddddd"
set xtics $tics rotate by -30
set rmargin 5
set multiplot layout 1,2
do for [part in "$parts"] {
  if (part eq "state") {
    set logscale y
    set format y "%.0s%c"
    set yrange [*:*]
    set key left top Left reverse
  } else {
    set yrange [0:*]
    set key left bottom Left reverse
  }
  set title title(part)
  set ylabel label(part)
  plot for [mixer in "$mixers"] sprintf("$rows/%s_%s", part, mixer) \\
    using 1:(part eq "state" ? \$2 : \$2 / 1e3) with linespoints linewidth 1.5 pointtype 7 pointsize 0.5 title mixer
}
unset multiplot
GNUPLOT
