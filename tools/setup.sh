#!/usr/bin/env bash
# Prepares this machine to build convseq. Idempotent: if nothing is missing, it is quick and uses no network.
# Without root it names the missing packages and stops.
#   tools/setup.sh [tests|check|lite]    tests: also the Python packages that a few tests compare with
#                                        check: also the compilers and tools of `make check`
#                                        lite: only what convseq-lite needs, so neither libtorch nor pip
set -euo pipefail
cd "$(dirname "$0")/.."
export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1

# A package is present if its command or header is found, wherever it was installed from.
have_command() { command -v "$1" >/dev/null 2>&1; }
have_header() { echo "#include <$1>" | "${CXX:-c++}" -std=c++20 -x c++ -E - >/dev/null 2>&1; }

missing=()
want_command() { have_command "$1" || missing+=("$2"); }
want_header() { have_header "$1" || missing+=("$2"); }

have_command "${CXX:-c++}" || missing+=(g++)
want_command cmake cmake
want_command ninja ninja-build
want_header CLI/CLI.hpp libcli11-dev
want_header nlohmann/json.hpp nlohmann-json3-dev
want_header fmt/format.h libfmt-dev
want_header spdlog/spdlog.h libspdlog-dev
want_header sentencepiece_processor.h libsentencepiece-dev
want_header gtest/gtest.h libgtest-dev
want_header zlib.h zlib1g-dev
want_header zstd.h libzstd-dev
if [ "${1:-}" = check ]; then
  want_command g++ g++
  want_command clang++ clang
  want_command clang-format clang-format
  want_command run-clang-tidy clang-tidy
fi
libtorch=none
if [ "${1:-}" != lite ]; then
  python3 -c 'import pip' 2>/dev/null || have_command pip3 || missing+=(python3-pip)
  libtorch=$(tools/find_libtorch.sh)
fi

# Optional packages, installed on a first set-up only.
optional=()
have_command clang++ || optional+=(clang)  # without these three a build takes several times longer
have_command ccache || optional+=(ccache)
have_command ld.lld || have_command ld.mold || optional+=(lld)
if [ "${1:-}" != lite ]; then
  have_command clang-format || optional+=(clang-format)
  have_command mpicxx || optional+=(libopenmpi-dev)  # training by several processes on CPUs
  have_command mpirun || optional+=(openmpi-bin)
  have_command gnuplot || optional+=(gnuplot-nox)  # bench --plot, tools/plot_*.sh
fi

may_install() { [ "$(id -u)" = 0 ] && have_command apt-get; }
if [ ${#missing[@]} -gt 0 ] && ! may_install; then
  echo "setup: missing packages: ${missing[*]}" >&2
  echo "setup: install them, for example: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
install() {
  [ $# -gt 0 ] || return 0
  echo "setup: installing $*"
  apt-get update >"$log" 2>&1 &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1
}
if [ ${#missing[@]} -gt 0 ] || [ -z "$libtorch" ]; then
  log=$(mktemp)
  install ${missing[@]+"${missing[@]}"} || { tail -n 20 "$log" >&2; exit 1; }
  if may_install; then
    install ${optional[@]+"${optional[@]}"} || echo "setup: going on without ${optional[*]}"
  fi
  rm -f "$log"
fi

[ "${1:-}" != lite ] || exit 0

if [ -z "$libtorch" ]; then
  echo "setup: installing libtorch 2.11.0 into .deps/torch (about 1 GB)"
  rm -rf .deps/torch.partial
  python3 -m pip install --quiet --no-deps --target .deps/torch.partial \
    torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
  rm -rf .deps/torch
  mv .deps/torch.partial .deps/torch
fi

# Headers for some matmuls on Hopper GPUs; a build without them is only slower there.
cutlass=.deps/cutlass/cutlass_library/source/include
if { have_command nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } && [ -z "${CUTLASS_PATH:-}" ] && [ ! -d $cutlass ]; then
  echo "setup: installing CUTLASS's headers into .deps/cutlass"
  rm -rf .deps/cutlass.partial .deps/cutlass
  if python3 -m pip install --quiet --no-deps --target .deps/cutlass.partial nvidia-cutlass==4.2.0.0; then
    mv .deps/cutlass.partial .deps/cutlass
  else
    echo "setup: going on without CUTLASS"
  fi
fi

# The Python side of the checkpoint tests: does the reference package open our files?
if [ "${1:-}" = tests ] && ! PYTHONPATH=.deps/python python3 -c 'import numpy, safetensors' 2>/dev/null; then
  echo "setup: installing the Python packages safetensors and numpy into .deps/python"
  python3 -m pip install --quiet --target .deps/python safetensors numpy
fi
