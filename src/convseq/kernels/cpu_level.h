#pragma once

#include <string_view>
#include <vector>

namespace convseq::kernels {

// The instruction sets that the CPU kernels are compiled for. Those of one architecture stand in
// the order in which each includes the ones before it, except that few CPUs with AVX-512 have
// AVX-VNNI.
enum class CpuLevel {
  Baseline,    // NEON on Arm, SSE2 on x86
  DotProduct,  // Arm: sdot
  I8mm,        // Arm: smmla and bfmmla
  Avx2,        // x86: with fused multiply-add
  AvxVnni,     // vpdpbusd on 256 bits, without AVX-512
  Avx512,
  Avx512Vnni,  // vpdpbusd on 512 bits
  Avx512Bf16,  // vdpbf16ps
  Amx,         // x86: tdpbusd and tdpbf16ps
};

std::vector<CpuLevel> cpu_levels();  // those that this machine supports, the widest last
// The widest, or the one that the environment variable CONVSEQ_CPU names; an Error where
// this machine does not support that one.
CpuLevel default_cpu_level();

std::string_view cpu_level_name(CpuLevel level);  // as CONVSEQ_CPU takes it, e.g. "avx512-vnni"

}  // namespace convseq::kernels
