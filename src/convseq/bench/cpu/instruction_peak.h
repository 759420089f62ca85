#pragma once

#include <string>
#include <vector>

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/cpu/cpu_speed.h"
#include "convseq/kernels/matmul_instruction.h"
#include "convseq/runtime/thread_pool.h"

namespace convseq::bench {

// The operations per second of an instruction on all threads.
struct InstructionPeak {
  CpuPrecision precision{};
  std::string instruction;
  double gigaops = 0;
};

// The peaks of the instructions that matmuls use. They depend on the machine's load as all other
// results do, and so are measured for some milliseconds before each of them; the best counts.
class InstructionPeaks {
 public:
  explicit InstructionPeaks(int64_t threads) : pool_(threads) {}
  void measure(CpuPrecision precision);
  const std::vector<InstructionPeak>& peaks() const { return peaks_; }

 private:
  InstructionPeak& peak_of(CpuPrecision precision, const std::string& instruction);
  double seconds_of(const kernels::MatmulInstruction& instruction, int64_t times);
  double gigaops(const kernels::MatmulInstruction& instruction);

  ThreadPool pool_;
  std::vector<InstructionPeak> peaks_;
};

// "peak_int8_smmla"
Row row_of(const InstructionPeak& peak);
// "cpu_light_int8_128_batch_32_of_smmla": the operations per second of an encoder, whose bound is
// the peak; none of generation, which waits for memory.
std::vector<Row> peak_rows(const CpuSpeed& speed, const std::vector<InstructionPeak>& peaks);

}  // namespace convseq::bench
