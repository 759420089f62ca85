#!/bin/sh
# Runs the tests of the CPU kernels on an emulated Arm processor. Needs g++-aarch64-linux-gnu, qemu-user-static,
# libgtest-dev and libfmt-dev. An Arm machine runs them natively in `make test`.
set -eu
cd "$(dirname "$0")/.."
build=build/neon
mkdir -p "$build"
# Only the headers and sources of fmt and gtest: the installed libraries are for another processor.
mkdir -p "$build/include"
ln -sfn /usr/include/fmt "$build/include/fmt"
ln -sfn /usr/include/gtest "$build/include/gtest"
flags="-std=c++20 -O2 -ffp-contract=fast -Wno-psabi -DFMT_HEADER_ONLY -Isrc -Itests -isystem $build/include"
aarch64-linux-gnu-g++ $flags -DCONVSEQ_LEVEL=baseline -DCONVSEQ_LANES=4 -static -pthread -o "$build/kernels_test" \
  src/convseq/base/error.cpp src/convseq/kernels/cpu/*.cpp \
  tests/kernels/conv_cpu_test.cpp \
  -isystem /usr/src/googletest/googletest /usr/src/googletest/googletest/src/gtest-all.cc \
  /usr/src/googletest/googletest/src/gtest_main.cc
qemu-aarch64-static "$build/kernels_test" --gtest_brief=1
