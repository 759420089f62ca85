#!/usr/bin/env bash
# Fuzzes the safetensors reader with libFuzzer for ten minutes, or the given number of seconds, under the address
# and undefined-behaviour sanitizers. The last line printed is the result as JSON. An input that crashes the reader is
# kept as build/fuzz/crash-*.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
commit=$(git describe --always --dirty)

cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ -DCONVSEQ_FUZZ=ON \
  -DCONVSEQ_CUDA=OFF -DCONVSEQ_SANITIZE=fuzzer-no-link,address,undefined \
  -DCMAKE_CXX_FLAGS=-fno-sanitize-recover=all >/dev/null
cmake --build build/fuzz --target safetensors_fuzz

# Seed files, all valid except one; the corpus grows from run to run.
corpus=build/fuzz/corpus
mkdir -p "$corpus"
python3 - "$corpus" <<'PYTHON'
import json, struct, sys
from pathlib import Path

def seed(name, header, buffer=b""):
    text = json.dumps(header, ensure_ascii=False).encode()
    Path(sys.argv[1], name).write_bytes(struct.pack("<Q", len(text)) + text + buffer)

SIZES = {1: "BOOL U8 I8 F8_E5M2 F8_E4M3", 2: "I16 U16 F16 BF16", 4: "I32 U32 F32", 8: "F64 I64 U64"}
for size, types in SIZES.items():
    for type in types.split():
        seed(type, {"a": {"dtype": type, "shape": [1, 2], "data_offsets": [0, 2 * size]}}, bytes(2 * size))
u8 = {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}
seed("nothing", {})
seed("scalar", {"s": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}}, b"x")
seed("empty", {"e": {"dtype": "F32", "shape": [2, 0], "data_offsets": [0, 0]}})
seed("metadata", {"__metadata__": {"format": "pt", "é\n": "\u0001"}, "a": u8}, b"12")
seed("pair", {"b": {**u8, "data_offsets": [2, 4]}, "a": u8}, b"1234")
seed("unknown", {"a": {"note": [{"x": [1.5, None, True, -3]}, "s"], **u8}}, b"12")
seed("overflow", {"a": {"dtype": "U8", "shape": [2**32, 2**32], "data_offsets": [0, 0]}})
PYTHON

log=build/fuzz/log.txt
status=0
build/fuzz/bin/safetensors_fuzz -max_total_time="$seconds" -max_len=4096 -timeout=10 -use_value_profile=1 \
  -print_final_stats=1 -artifact_prefix=build/fuzz/ "$corpus" >"$log" 2>&1 || status=$?
[ "$status" = 0 ] || tail -n 40 "$log"

executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
crashes=$((status != 0))
printf '{"date": "%s", "commit": "%s", "command": "tools/fuzz.sh %s", "seconds": %s, "executions": %s, "coverage_edges": %s, "crashes": %s}\n' \
  "$(date -u +%F)" "$commit" "$seconds" "$seconds" "${executions:-0}" "${edges:-0}" "$crashes"
exit "$status"
