#!/usr/bin/env bash
# Fails where convseq-lite is larger than 15 MB, links libtorch, or is slow to start.
#   tests/cli/check_lite.sh PROGRAM
set -euo pipefail
program=$1
bytes=$(stat --dereference --format %s "$program")
if [ "$bytes" -gt 15000000 ]; then
  echo "$program: $bytes bytes; at most 15000000"
  exit 1
fi
if ldd "$program" | grep -E 'torch|c10|cuda|mpi'; then
  echo "$program: links the libraries above"
  exit 1
fi
best=1000000
for _ in 1 2 3 4 5; do
  begin=$(date +%s%N)
  "$program" version > /dev/null
  took=$((($(date +%s%N) - begin) / 1000))
  [ "$took" -ge "$best" ] || best=$took
done
echo "$program: $bytes bytes, version in $best µs"
[ "$best" -le 50000 ]
