#!/usr/bin/env bash
# Prints the libtorch that this checkout builds with, or nothing: the folder that holds include/ and lib/.
# The order: $CONVSEQ_LIBTORCH, the folders given as arguments, the torch that python3 imports, the one that
# tools/setup.sh put into .deps.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wanted=2.11

version_of() {  # "2.11" for 2.11.0+cu130
  sed -n 's/^#define TORCH_VERSION_\(MAJOR\|MINOR\) \([0-9]*\).*/\2/p' \
    "$1/include/torch/headeronly/version.h" 2>/dev/null | paste -sd.
}

if [ -n "${CONVSEQ_LIBTORCH:-}" ]; then
  found=$(version_of "$CONVSEQ_LIBTORCH")
  if [ "$found" != "$wanted" ]; then
    echo "CONVSEQ_LIBTORCH=$CONVSEQ_LIBTORCH: wants libtorch $wanted, found '${found:-none}' there" >&2
    exit 2
  fi
  echo "$CONVSEQ_LIBTORCH"
  exit 0
fi
imported=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true)
for candidate in "$@" "$imported" "$root/.deps/torch/torch"; do
  if [ -n "$candidate" ] && [ "$(version_of "$candidate")" = "$wanted" ]; then
    echo "$candidate"
    exit 0
  fi
done
