// SPDX-License-Identifier: Apache-2.0
// One turn of a thread that waits without sleeping: lets the processor save power, or run its other thread.
#pragma once
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace longship::collective {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace longship::collective
