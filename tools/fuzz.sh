#!/usr/bin/env bash
# Fuzzes one reader with libFuzzer under the address and undefined-behaviour sanitizers, for ten minutes or the given
# number of seconds. The last line printed is the result as JSON. An input that crashes the reader is kept as
# build/fuzz/TARGET-crash-*.
#   tools/fuzz.sh safetensors|packed [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
seconds=${2:-600}
commit=$(git describe --always --dirty)

cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ -DCONVSEQ_FUZZ=ON \
  -DCONVSEQ_TORCH=OFF -DCONVSEQ_CUDA=OFF -DCONVSEQ_SANITIZE=fuzzer-no-link,address,undefined \
  -DCMAKE_CXX_FLAGS=-fno-sanitize-recover=all -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 >/dev/null  # one compilation per folder
cmake --build build/fuzz --target "${target}_fuzz"

# The corpus grows from run to run.
corpus=build/fuzz/corpus-$target
mkdir -p "$corpus"

# Seed files of safetensors, all valid except one. Packed weights need none: their mutator makes valid files.
write_seeds() {
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
}
limits=(-max_len=8192 -len_control=0)
if [ "$target" = safetensors ]; then
  write_seeds
  limits=(-max_len=4096)
fi

log=build/fuzz/$target.log
status=0
# Files in memory: each packed file that is written again is synced to the disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
"build/fuzz/bin/${target}_fuzz" -max_total_time="$seconds" "${limits[@]}" -timeout=10 -use_value_profile=1 \
  -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" "$corpus" >"$log" 2>&1 || status=$?
[ "$status" = 0 ] || tail -n 40 "$log"

executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
crashes=$((status != 0))
printf '{"date": "%s", "commit": "%s", "command": "tools/fuzz.sh %s %s", "seconds": %s, "executions": %s, "coverage_edges": %s, "crashes": %s}\n' \
  "$(date -u +%F)" "$commit" "$target" "$seconds" "$seconds" "${executions:-0}" "${edges:-0}" "$crashes"
exit "$status"
