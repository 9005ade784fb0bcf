// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"

namespace longship::image {
namespace {

constexpr std::uint64_t largest = 16u << 20;

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool is_glibc(std::string_view name) {
  return name == "libc.so.6" ||
         (name.starts_with("libc-2.") && name.ends_with(".so"));  // the latter before 2.34
}

bool is_musl(std::string_view name) {
  return name.starts_with("ld-musl-");
}

bool is_shell(std::string_view path) {
  constexpr std::array<std::string_view, 8> shells = {"bin/sh",       "bin/dash",       "bin/bash",
                                                      "bin/busybox",  "usr/bin/sh",     "usr/bin/dash",
                                                      "usr/bin/bash", "usr/bin/busybox"};
  return std::find(shells.begin(), shells.end(), path) != shells.end();
}

bool is_release_file(std::string_view path) {
  return path == "etc/os-release" || path == "usr/lib/os-release";
}

// Debian's and uname's name of the machine an ELF file is for; empty if it is none.
std::string architecture_of(std::string_view content) {
  Elf64_Ehdr header;
  if (content.size() < sizeof header || !content.starts_with(ELFMAG)) return {};
  std::memcpy(&header, content.data(), sizeof header);
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return {};
  switch (header.e_machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_PPC64:
      return "ppc64le";
    case EM_RISCV:
      return "riscv64";
    case EM_386:
      return "i686";
    default:
      return "elf-" + std::to_string(header.e_machine);
  }
}

// The library says of itself "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36."
std::string glibc_version(std::string_view content) {
  constexpr std::string_view before = " release version ";
  const auto library = content.find("GNU C Library ");
  if (library == std::string_view::npos) return {};
  const auto found = content.substr(library, 300).find(before);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = content.substr(library + found + before.size(), 16);
  const auto version = rest.substr(0, rest.find_first_not_of("0123456789."));
  return std::string(version.substr(0, version.find_last_not_of('.') + 1));
}

std::string pretty_name(std::string_view content) {
  for (const auto line : split(content, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string_view value = trim(line.substr(line.find('=') + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\''))
      value = value.substr(1, value.size() - 2);
    return printable(value);
  }
  return {};
}

}  // namespace

bool FactFinder::wants(const Member& member) {
  const auto name = name_of(member.path);
  return member.size <= largest &&
         (is_glibc(name) || is_musl(name) || is_shell(member.path) || is_release_file(member.path));
}

void FactFinder::look(std::string_view path, std::string_view content) {
  if (is_release_file(path)) {
    if (facts_.system.empty()) facts_.system = pretty_name(content);
    return;
  }
  if (facts_.architecture.empty()) facts_.architecture = architecture_of(content);
  const auto name = name_of(path);
  if (is_glibc(name) && facts_.libc.empty())
    if (const auto version = glibc_version(content); !version.empty()) facts_.libc = "glibc " + version;
  if (is_musl(name) && facts_.libc.empty()) facts_.libc = "musl";
}

}  // namespace longship::image
