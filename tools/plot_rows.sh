#!/bin/sh
# Draws the rows of `convseq bench length --json` or `convseq bench decode --json` again, where the machine that
# measured had no gnuplot, or of several files in one plot:
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
  parts="decode state" x="position" tics="(1, 16, 32, 64, 128, 256, 512, 1024, 2048)"
else
  parts="encoder step" x="source length" tics="(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)"
fi
mixers=$(ls "$rows" | sed 's/.*_//' | sort -u | tr '\n' ' ')
gnuplot <<GNUPLOT
title(part) = part eq "encoder" ? "the encoder alone" : part eq "step" ? "the whole step" : \\
  part eq "decode" ? "tokens decoded a second" : "bytes a sequence remembers"
set terminal svg size 900,420 dynamic background "white"
set output "$plot"
set logscale xy
set xlabel "$x"
set key left bottom
set grid
set xtics $tics
set multiplot layout 1,2
do for [part in "$parts"] {
  set title title(part)
  set ylabel part eq "state" ? "bytes" : part eq "decode" ? "tokens a second" : "source tokens a second"
  plot for [mixer in "$mixers"] sprintf("$rows/%s_%s", part, mixer) using 1:2 with linespoints title mixer
}
unset multiplot
GNUPLOT
