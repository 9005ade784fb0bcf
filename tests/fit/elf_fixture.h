// SPDX-License-Identifier: Apache-2.0
// Small shared libraries for tests: what read_elf() looks at, and nothing that could run.
#pragma once
#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace longship::fit {

struct ElfFixture {
  std::string soname = {};
  std::vector<std::string> needed = {};
  std::vector<std::string> wants = {};  // "GLIBC_2.34"
  std::vector<std::string> has = {};    // "GLIBCXX_3.4.30"
  std::string runpath = {};
  std::string strings = {};  // at its end
  Elf64_Half machine = EM_X86_64;
};

namespace detail {
template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
}  // namespace detail

inline std::string make_elf(const ElfFixture& fixture) {
  std::string names(1, '\0');
  const auto name = [&](const std::string& text) {
    const auto at = names.size();
    names += text + '\0';
    return static_cast<Elf64_Word>(at);
  };
  std::vector<Elf64_Dyn> dynamic;
  const auto entry = [&](Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn one{};
    one.d_tag = tag;
    one.d_un.d_val = value;
    dynamic.push_back(one);
  };
  for (const auto& library : fixture.needed) entry(DT_NEEDED, name(library));
  if (!fixture.soname.empty()) entry(DT_SONAME, name(fixture.soname));
  if (!fixture.runpath.empty()) entry(DT_RUNPATH, name(fixture.runpath));

  std::string needs, defines;
  if (!fixture.wants.empty()) {
    Elf64_Verneed need{};
    need.vn_version = 1;
    need.vn_cnt = static_cast<Elf64_Half>(fixture.wants.size());
    need.vn_file = name("libc.so.6");
    need.vn_aux = sizeof need;
    detail::append(needs, need);
    for (std::size_t i = 0; i < fixture.wants.size(); ++i) {
      Elf64_Vernaux version{};
      version.vna_name = name(fixture.wants[i]);
      version.vna_next = i + 1 < fixture.wants.size() ? sizeof version : 0;
      detail::append(needs, version);
    }
  }
  for (std::size_t i = 0; i < fixture.has.size(); ++i) {
    Elf64_Verdef define{};
    define.vd_version = 1;
    define.vd_cnt = 1;
    define.vd_aux = sizeof define;
    define.vd_next = i + 1 < fixture.has.size() ? sizeof define + sizeof(Elf64_Verdaux) : 0;
    detail::append(defines, define);
    Elf64_Verdaux text{};
    text.vda_name = name(fixture.has[i]);
    detail::append(defines, text);
  }

  constexpr std::size_t begin = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const auto at_needs = begin + names.size(), at_defines = at_needs + needs.size();
  const auto at_dynamic = at_defines + defines.size();
  entry(DT_STRTAB, begin);
  if (!needs.empty()) {
    entry(DT_VERNEED, at_needs);
    entry(DT_VERNEEDNUM, 1);
  }
  if (!defines.empty()) {
    entry(DT_VERDEF, at_defines);
    entry(DT_VERDEFNUM, fixture.has.size());
  }
  entry(DT_NULL, 0);
  const auto end = at_dynamic + dynamic.size() * sizeof(Elf64_Dyn) + fixture.strings.size();

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = fixture.machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{}, table{};
  load.p_type = PT_LOAD;
  load.p_filesz = end;
  table.p_type = PT_DYNAMIC;
  table.p_offset = at_dynamic;
  table.p_filesz = dynamic.size() * sizeof(Elf64_Dyn);
  std::string bytes;
  detail::append(bytes, header);
  detail::append(bytes, load);
  detail::append(bytes, table);
  bytes += names + needs + defines;
  for (const auto& one : dynamic) detail::append(bytes, one);
  return bytes + fixture.strings;
}

}  // namespace longship::fit
