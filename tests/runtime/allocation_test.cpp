#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "convseq/runtime/cpu_engine.h"
#include "model/model_table.h"
#include "runtime/model_folder.h"
#include "temp_folder.h"

namespace {

std::atomic<int64_t> allocations = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace convseq {

// With one thread: each further one allocates when it takes its first task.
TEST(CpuEngineMemory, AStepAllocatesNothingOnceAnotherDecodingWasAsLong) {
  for (const auto& each : testing::model_cases()) {
    testing::TempFolder folder;
    ModelConfig config = each.config;
    config.max_positions = 40;
    testing::random_weights(config).write(folder / "model", config);
    for (const auto precision : {CpuPrecision::Fp32, CpuPrecision::Int8}) {
      const auto engine = load_cpu_engine(folder / "model", {.precision = precision, .threads = 1});
      const auto encoded = engine->encode(testing::random_sources({30, 4, 9}));
      const TokenIds given(3, 7);
      for (int round = 0; round < 2; ++round) {
        const auto decoding = engine->start(*encoded, 40);
        int64_t in_steps = 0;
        for (int step = 0; step < 40; ++step) {
          const int64_t before = allocations;
          engine->step(*decoding, {.given = given});
          in_steps += allocations - before;
          engine->read(*decoding);
        }
        if (round == 1) {
          EXPECT_EQ(in_steps, 0) << each.name;
        }
      }
    }
  }
}

}  // namespace convseq
