#!/bin/sh
# Runs the tests of the CPU kernels on an emulated Arm processor, with plain NEON, dot products and i8mm. Needs
# g++-aarch64-linux-gnu, qemu-user-static, libgtest-dev and libfmt-dev. An Arm machine runs them natively in `make test`.
set -eu
cd "$(dirname "$0")/.."
build=build/neon
mkdir -p "$build/include"
# Only the headers and sources of fmt and gtest: the installed libraries are for another processor.
ln -sfn /usr/include/fmt "$build/include/fmt"
ln -sfn /usr/include/gtest "$build/include/gtest"
flags="-std=c++20 -O2 -Wno-psabi -DFMT_HEADER_ONLY -Isrc -Itests -isystem $build/include"

# level NAME FILE... -- FLAG...: objects of the loops of one instruction set
level() {
  name=$1
  shift
  files=
  while [ "$1" != -- ]; do files="$files src/convseq/kernels/cpu/$1" && shift; done
  shift
  for file in $files; do
    aarch64-linux-gnu-g++ $flags -ffp-contract=fast -DCONVSEQ_LEVEL="$name" -DCONVSEQ_LANES=4 "$@" -c "$file" \
      -o "$build/$name-$(basename "$file" .cpp).o"
  done
}
level baseline conv_loops.cpp dynamic_conv_loops.cpp glu_loops.cpp infer/attention_loops.cpp infer/matmul_ints.cpp infer/matmul_loops.cpp \
  infer/row_loops.cpp --
level dotprod infer/matmul_dotprod.cpp -- -march=armv8.2-a+dotprod
level i8mm infer/matmul_i8mm.cpp -- -march=armv8.2-a+dotprod+i8mm+bf16

cpu=src/convseq/kernels/cpu
aarch64-linux-gnu-g++ $flags -static -pthread -o "$build/kernels_test" "$build"/baseline-*.o "$build"/dotprod-*.o \
  "$build"/i8mm-*.o src/convseq/base/error.cpp src/convseq/base/machine.cpp src/convseq/kernels/checks.cpp \
  $cpu/conv.cpp $cpu/conv_rows.cpp $cpu/cpu_level.cpp $cpu/infer/matmul_levels.cpp $cpu/infer/packed_matmul.cpp \
  $cpu/infer/row_ops.cpp tests/kernels/*_cpu_test.cpp tests/kernels/conv_rows_test.cpp \
  -isystem /usr/src/googletest/googletest /usr/src/googletest/googletest/src/gtest-all.cc \
  /usr/src/googletest/googletest/src/gtest_main.cc
qemu-aarch64-static -cpu max "$build/kernels_test" --gtest_brief=1
