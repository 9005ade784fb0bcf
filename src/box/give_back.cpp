// SPDX-License-Identifier: Apache-2.0
#include "give_back.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>

namespace longship::box {
namespace {

// Segments that cannot be written to are as in the file, so nothing is lost.
int unmap_constant_segments(dl_phdr_info* about, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < about->dlpi_phnum; ++i) {
    const auto& segment = about->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const auto begin = (about->dlpi_addr + segment.p_vaddr) / page * page;
    const auto end = about->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    ::madvise(std::bit_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;  // the first is the program
}

}  // namespace

// Blocks come and go: their pages are kept instead of faulted in again. One heap for all threads: they
// seldom ask for memory at the same time.
void use_little_memory() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
}

void give_back_memory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(unmap_constant_segments, nullptr);
}

}  // namespace longship::box
