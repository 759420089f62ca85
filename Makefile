# A thin front: tools/setup.sh prepares the machine, CMake presets build, ctest tests.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD = build/$(PRESET)

.PHONY: all setup configure build test test-long test-gpu demo format format-check tidy goldens fuzz clean

all: build

setup:
	@tools/setup.sh

configure: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET)

build: configure
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ln -sfn $(PRESET)/bin/convseq build/convseq

test: build  ## everything that needs no GPU
	@ctest --test-dir $(BUILD) --output-on-failure -LE gpu

test-gpu: build  ## what needs a GPU; fails where there is none
	@ctest --test-dir $(BUILD) --output-on-failure -L gpu

test-long: build  ## half an hour: 200 kills with each of 1, 2 and 4 processes
	@$(BUILD)/bin/kill_test --gtest_filter='LongKill*'

demo: build  ## the main job, on data of our own
	@tools/demo.sh

format:  ## clang-format, in place
	@git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format -i

format-check:
	@git ls-files '*.h' '*.cpp' '*.cu' | xargs clang-format --dry-run --Werror

tidy: configure  ## clang-tidy over the sources (slow: minutes)
	@git ls-files 'src/*.cpp' | xargs clang-tidy -p $(BUILD) --quiet

goldens:  ## writes tests/goldens anew (needs Python's torch, transformers, safetensors, tensorboard)
	@python3 tests/goldens/make_goldens.py
	@python3 tests/goldens/make_squad_goldens.py
	@python3 tests/goldens/make_tensorboard_golden.py
	@python3 tests/goldens/make_optimizer_goldens.py

fuzz:  ## ten minutes of hostile checkpoints under the address sanitizer
	@tools/fuzz.sh

clean:
	@rm -rf build
