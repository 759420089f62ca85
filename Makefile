# A thin front: tools/setup.sh prepares the machine, CMake presets build, ctest tests.
PRESET ?= release
JOBS ?= $(shell nproc)
BUILD = build/$(PRESET)
# lite needs no libtorch. No comment behind the value: the spaces before it would belong to it.
SETUP = $(filter lite,$(PRESET))

# The thread sanitizer is for the tests of what has threads, and wants addresses that are not random.
ifeq ($(PRESET),tsan)
CTEST = $(shell setarch -R true 2>/dev/null && echo setarch -R) ctest -L threads
else
CTEST = ctest -LE gpu
endif

SOURCES = git ls-files '*.h' '*.cpp' '*.cu' '*.cuh'

.PHONY: all setup configure build program lite test test-long test-gpu check demo format format-check tidy goldens fuzz clean

all: build

setup:
	@tools/setup.sh $(SETUP)

configure: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET)

build: configure
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@[ ! -x $(BUILD)/bin/convseq ] || ln -sfn $(PRESET)/bin/convseq build/convseq

program: configure  ## the program alone, without tests
	@cmake --build --preset $(PRESET) -j $(JOBS) --target convseq
	@ln -sfn $(PRESET)/bin/convseq build/convseq

lite:  ## convseq-lite: predict, evaluate, quantize and inspect on a CPU without libtorch
	@$(MAKE) configure PRESET=lite
	@cmake --build --preset lite -j $(JOBS) --target convseq-lite
	@ln -sfn lite/bin/convseq-lite build/convseq-lite

# Tests run side by side, and threads that wait for one another keep the cores busy: two processes with two threads
# each on two cores take three times as long as with one.
test: build  ## everything that needs no GPU
	@tools/setup.sh $(or $(SETUP),tests)
	@OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(CTEST) --test-dir $(BUILD) --output-on-failure -j $(JOBS)

test-gpu: build  ## what needs a GPU; fails where there is none
	@ctest --test-dir $(BUILD) --output-on-failure -L gpu

test-long: build fuzz  ## an hour: fuzzing, 200 kills with each of 1, 2 and 4 processes, pre-training at length, a million predictions
	@$(BUILD)/bin/kill_test --gtest_filter='Long*'
	@$(BUILD)/bin/pretraining_helps_test --gtest_filter='Long*'
	@$(BUILD)/bin/long_prediction_test

check:  ## what a landing must pass, and more: sanitizers, g++, clang-tidy
	@tools/setup.sh check
	@$(MAKE) test format-check
	@$(MAKE) test PRESET=asan
	@$(MAKE) test PRESET=tsan
	@cmake --preset gcc && cmake --build --preset gcc -j $(JOBS)
	@$(MAKE) tidy

demo: program  ## the main job, on data of our own
	@tools/demo.sh

format:  ## clang-format, in place
	@$(SOURCES) | xargs clang-format -i

format-check:
	@$(SOURCES) | xargs clang-format --dry-run --Werror

tidy: setup  ## clang-tidy over src (not the tests), one compilation per folder; nothing is built but generated sources
	@cmake --preset tidy > /dev/null && cmake --build --preset tidy > /dev/null
	@run-clang-tidy -quiet -j $(JOBS) -p build/tidy '/src/convseq/[a-z].*\.(cpp|cxx)$$' > build/tidy/tidy.log 2>&1 || \
	  { grep -A4 -E 'error:' build/tidy/tidy.log; exit 1; }

goldens:  ## writes tests/goldens anew (needs Python's torch, transformers, safetensors, tensorboard)
	@python3 tests/goldens/make_goldens.py
	@python3 tests/goldens/make_squad_goldens.py
	@python3 tests/goldens/make_tensorboard_golden.py
	@python3 tests/goldens/make_optimizer_goldens.py

fuzz:  ## ten minutes each of hostile checkpoints and packed weights under the address sanitizer
	@tools/fuzz.sh safetensors
	@tools/fuzz.sh packed

clean:
	@rm -rf build
