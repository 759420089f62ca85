#!/bin/sh
# Draws the rows of `convseq bench length --json` again, where the machine that measured had no gnuplot:
# tools/plot_lengths.sh bench/results/length-h200.json docs/length.svg
set -eu
rows=$(mktemp -d)
trap 'rm -rf "$rows"' EXIT
python3 - "$1" "$rows" <<'PYTHON'
import json, re, sys
for row in json.load(open(sys.argv[1]))["results"]:
    found = re.fullmatch(r"(encoder|step)_([a-z]+)_(\d+)", row["name"])
    if found:
        part, mixer, length = found.groups()
        print(length, row["value"], file=open(f"{sys.argv[2]}/{part}_{mixer}", "a"))
PYTHON
gnuplot <<GNUPLOT
set terminal svg size 900,420 dynamic background "white"
set output "$2"
set logscale xy
set xlabel "source length"
set ylabel "source tokens a second"
set key left bottom
set grid
set xtics (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
set multiplot layout 1,2
do for [part in "encoder step"] {
  set title part eq "encoder" ? "the encoder alone" : "the whole step"
  plot for [mixer in "attention depthwise light dynamic dilated"] sprintf("$rows/%s_%s", part, mixer) \\
    using 1:2 with linespoints title mixer
}
unset multiplot
GNUPLOT
