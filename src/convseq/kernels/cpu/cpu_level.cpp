#include "convseq/kernels/cpu_level.h"

#include <cstdlib>

#include "convseq/base/enum_names.h"
#include "convseq/base/error.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace convseq {

template <>
inline constexpr auto kEnumNames<kernels::CpuLevel> =
    std::to_array<EnumName<kernels::CpuLevel>>({{kernels::CpuLevel::Baseline, "baseline"},
                                                {kernels::CpuLevel::DotProduct, "dotprod"},
                                                {kernels::CpuLevel::I8mm, "i8mm"},
                                                {kernels::CpuLevel::Avx2, "avx2"},
                                                {kernels::CpuLevel::AvxVnni, "avx-vnni"},
                                                {kernels::CpuLevel::Avx512, "avx512"},
                                                {kernels::CpuLevel::Avx512Vnni, "avx512-vnni"},
                                                {kernels::CpuLevel::Avx512Bf16, "avx512-bf16"},
                                                {kernels::CpuLevel::Amx, "amx"}});

}  // namespace convseq

namespace convseq::kernels {
namespace {

#if defined(__aarch64__)
// The kernel's bits for user programs; <asm/hwcap.h> of older systems does not have all of them.
bool has_dot_product() { return (getauxval(AT_HWCAP) >> 20 & 1) != 0; }
bool has_i8mm_and_bf16() {
  const auto features = getauxval(AT_HWCAP2);
  return (features >> 13 & 1) != 0 && (features >> 14 & 1) != 0;
}
#elif defined(__x86_64__)
// Linux lets a process use the tile registers after it has asked for them.
bool ask_for_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}
bool has_amx() {  // bf16, tiles and int8
  constexpr unsigned kFeatures = 1U << 22 | 1U << 24 | 1U << 25;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  static const bool has = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
                          (edx & kFeatures) == kFeatures && ask_for_tiles();
  return has;
}
#endif

CpuLevel chosen_level() {
  const auto levels = cpu_levels();
  const char* wanted = std::getenv("CONVSEQ_CPU");
  if (wanted == nullptr || *wanted == '\0') return levels.back();
  std::string allowed;
  for (const CpuLevel level : levels) {
    if (cpu_level_name(level) == wanted) return level;
    allowed += (allowed.empty() ? "" : ", ") + std::string(cpu_level_name(level));
  }
  throw Error(fmt::format("CONVSEQ_CPU={}: this machine supports {}", wanted, allowed));
}

}  // namespace

std::vector<CpuLevel> cpu_levels() {
  std::vector<CpuLevel> levels = {CpuLevel::Baseline};
  [[maybe_unused]] const auto add = [&](CpuLevel level, bool supported) {
    if (supported) levels.push_back(level);
    return supported;
  };
#if defined(__aarch64__)
  if (add(CpuLevel::DotProduct, has_dot_product())) add(CpuLevel::I8mm, has_i8mm_and_bf16());
#elif defined(__x86_64__)
  if (add(CpuLevel::Avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) {
    add(CpuLevel::AvxVnni, has_avx_vnni());
    const bool wide = add(CpuLevel::Avx512, __builtin_cpu_supports("avx512f") &&
                                                __builtin_cpu_supports("avx512bw") &&
                                                __builtin_cpu_supports("avx512dq") &&
                                                __builtin_cpu_supports("avx512vl"));
    if (wide && add(CpuLevel::Avx512Vnni, __builtin_cpu_supports("avx512vnni"))) {
      if (add(CpuLevel::Avx512Bf16, __builtin_cpu_supports("avx512bf16"))) {
        add(CpuLevel::Amx, has_amx());
      }
    }
  }
#endif
  return levels;
}

CpuLevel default_cpu_level() {
  static const CpuLevel level = chosen_level();
  return level;
}

std::string_view cpu_level_name(CpuLevel level) { return name_of(level); }

}  // namespace convseq::kernels
