#!/usr/bin/env bash
# Fails where convseq-lite is larger than 15 MB, links libtorch, or is slow: `version` takes over 50 ms, or the answer of
# a model whose weights are packed over 200 ms.
#   tests/cli/check_lite.sh PROGRAM
set -euo pipefail
program=$1
bytes=$(stat --dereference --format %s "$program")
if [ "$bytes" -gt 15000000 ]; then
  echo "$program: $bytes bytes; at most 15000000"
  exit 1
fi
# The names alone: an address may hold "c10" too.
if ldd "$program" | awk '{ print $1 }' | grep -E 'torch|c10|cuda|cublas|mpi'; then
  echo "$program: links the libraries above"
  exit 1
fi

best_of_five() {  # the time of a command in microseconds
  local best=1000000000 begin took
  for _ in 1 2 3 4 5; do
    begin=$(date +%s%N)
    "$@" > /dev/null
    took=$((($(date +%s%N) - begin) / 1000))
    [ "$took" -ge "$best" ] || best=$took
  done
  echo "$best"
}

model=$(mktemp -d)
trap 'rm -r "$model"' EXIT
golden=$(dirname "$0")/../goldens/run_v0_1
cp "$golden"/finetune/best/{config.json,model.safetensors} "$golden"/{spiece.model,tokenizer_config.json} "$model"
echo "a text" > "$model/text.txt"
version=$(best_of_five "$program" version)
answer=$(best_of_five "$program" predict "$model" "$model/text.txt" --quiet)
echo "$program: $bytes bytes, version in $version µs, answer in $answer µs"
[ "$version" -le 50000 ] && [ "$answer" -le 200000 ]
