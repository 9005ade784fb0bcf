// SPDX-License-Identifier: Apache-2.0
// Any bytes at all are read as a library, or are none; what comes out may be shown to people.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fit/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  const auto elf = fit::read_elf({reinterpret_cast<const char*>(data), size});
  if (!elf) return 0;
  for (const auto* texts : {&elf->needed, &elf->runpath, &elf->wants, &elf->has})
    for (const auto& text : *texts)
      if (text.empty() || text.find_first_of("\n\x1b") != std::string::npos) std::abort();
  (void)fit::wanted_glibc(*elf);
  for (const auto part : fit::constants_of({reinterpret_cast<const char*>(data), size}))
    if (part.size() > size) std::abort();
  return 0;
}
