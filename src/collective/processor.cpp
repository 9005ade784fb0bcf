// SPDX-License-Identifier: Apache-2.0
#include "processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace longship::collective {

#if defined(__x86_64__)
namespace {

// Registers that the kernel saves when it switches between threads.
unsigned saved_state() {
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

// By hand: the compiler's __builtin_cpu_supports needs a library that zig's builds do not have.
Processor this_processor() {
  constexpr unsigned osxsave = 1u << 27, f16c = 1u << 29;
  constexpr unsigned ymm = 0x6, zmm = 0xe6;
  constexpr unsigned with_avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  Processor found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & osxsave) == 0 || (c & f16c) == 0) return found;
  const unsigned saved = saved_state();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  found.avx2 = (saved & ymm) == ymm && (b & bit_AVX2) != 0;
  found.avx512 = found.avx2 && (saved & zmm) == zmm && (b & with_avx512) == with_avx512;
  return found;
}
#else
Processor this_processor() {
  return {};
}
#endif

}  // namespace longship::collective
