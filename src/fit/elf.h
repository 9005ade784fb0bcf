// SPDX-License-Identifier: Apache-2.0
// What a shared library says of itself: its name, the libraries it needs, the symbol versions it wants and
// has.
//
// Libraries come from images, so any bytes at all may be given: everything is read within the file's bounds,
// and what makes no sense is left out. The loader's own way is taken (program headers, dynamic section), for
// libraries may lack sections, which is what libelf goes by. Fuzzer: tests/fuzz/elf_fuzz.cpp.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "version.h"

namespace longship::fit {

struct Elf {
  std::string architecture;          // as uname says it
  std::string soname;                // "libmpi.so.40"; empty: it has none
  std::vector<std::string> needed;   // sonames
  std::vector<std::string> runpath;  // where to look for them first; "$ORIGIN" as it stands there
  std::vector<std::string> wants;    // symbol versions of others: "GLIBC_2.34"
  std::vector<std::string> has;      // its own: "GLIBCXX_3.4.30"
};

// Nothing: no ELF file. Only the architecture is known of files for 32 bits or of the other byte order.
[[nodiscard]] std::optional<Elf> read_elf(std::string_view file);

// The parts of a library in which its texts are, to be searched: without the code where that is apart, which
// is most of a large library; else all of it.
[[nodiscard]] std::vector<std::string_view> constants_of(std::string_view file);

// The highest of "GLIBC_2.2.5", "GLIBC_2.34", …: 2.34; nothing if there are none with that prefix.
[[nodiscard]] std::optional<Version> highest(const std::vector<std::string>& versions,
                                             std::string_view prefix);
// The glibc without which the loader refuses it; nothing if it asks for none.
[[nodiscard]] std::optional<Version> wanted_glibc(const Elf& elf);

}  // namespace longship::fit
