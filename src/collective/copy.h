// SPDX-License-Identifier: Apache-2.0
// Copies of tensors by the C library's own memcpy, which knows the processor it runs on. In liblongship.so
// the plain name would mean the one of zig's run-time library, sixteen bytes at a time, which makes an
// all-reduce of four ranks up to a fifth slower. So there it is asked for by its version.
#pragma once
#include <cstddef>
#include <cstring>

namespace longship::collective {

#if defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
extern "C" void* longship_libc_memcpy(void* to, const void* from, std::size_t bytes) noexcept
    __asm__("memcpy@GLIBC_2.14");
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  longship_libc_memcpy(to, from, bytes);
}
#else
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace longship::collective
