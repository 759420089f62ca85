#!/usr/bin/env bash
# The main job on data of our own: a tiny model of each family, end to end.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(readlink -f build/convseq)
"$program" version
"$(dirname "$program")/tiny_end_to_end"
