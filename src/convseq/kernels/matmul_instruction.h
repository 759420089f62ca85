#pragma once

#include <vector>

#include "convseq/kernels/packed_matmul.h"

namespace convseq::kernels {

// The instruction that does the multiplications of a matmul. What a core can do at most is measured
// by repeating it on registers alone.
struct MatmulInstruction {
  const char* name = nullptr;                // "smmla"
  int64_t operations = 0;                    // of one repetition; a multiply-add is two
  float (*repeat)(int64_t times) = nullptr;  // the result means nothing
};

// That of the matmul of a type. With AMX the vector instruction too, which less wide CPUs use.
std::vector<MatmulInstruction> matmul_instructions(WeightType type, CpuLevel level);

}  // namespace convseq::kernels
