// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "fit/elf.h"
#include "software.h"

namespace longship::image {
namespace {

constexpr std::uint64_t largest = 16u << 20;
constexpr std::uint64_t largest_mpi = 64u << 20;  // MPICH with all its networks has 40 MiB

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

// The library itself, not the names that lead to it: those are links.
bool is_mpi(std::string_view name) {
  return name.starts_with("libmpi.so.") || name.starts_with("libmpich.so.");
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

bool is_version(std::string_view text) {
  const auto dots = std::count(text.begin(), text.end(), '.');
  return dots >= 1 && dots <= 2 && text.front() != '.' && text.back() != '.' &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

// The first string that is wanted, of those that stand between zero bytes; where it begins, or npos.
template <class Wanted>
std::size_t find_string(std::string_view content, std::size_t longest, Wanted wanted) {
  for (std::size_t at = content.find('\0'); at != std::string_view::npos;) {
    const auto begin = at + 1;
    at = content.find('\0', begin);
    if (at == std::string_view::npos || at - begin < 5 || at - begin > longest) continue;
    if (wanted(content.substr(begin, at - begin))) return begin;
  }
  return std::string_view::npos;
}

// "14:2:2", as libtool counts versions.
bool is_libtool_version(std::string_view text) {
  return std::count(text.begin(), text.end(), ':') == 2 && text.front() != ':' && text.back() != ':' &&
         text.find_first_not_of("0123456789:") == std::string_view::npos;
}

// The first of a library's strings that is a version and nothing else; both families have theirs among them.
std::string_view version_among_strings(std::string_view content) {
  const auto without_v = [](std::string_view text) { return text.front() == 'v' ? text.substr(1) : text; };
  const auto found =
      find_string(content, 12, [&](std::string_view text) { return is_version(without_v(text)); });
  if (found == std::string_view::npos) return {};
  return without_v(content.substr(found, content.find('\0', found) - found));
}

// MPICH has other libraries built in, with versions of their own; its own stands beside that of its ABI.
std::string_view mpich_version(std::string_view content) {
  constexpr std::size_t near = 256;
  const auto abi = find_string(content, 12, is_libtool_version);
  if (abi != std::string_view::npos)
    if (const auto version = version_among_strings(content.substr(abi < near ? 0 : abi - near, 2 * near));
        !version.empty())
      return version;
  return version_among_strings(content);
}

// "openmpi 4.1.4", "mpich 4.0.2": the family is what tells with which launcher and which host it gets along.
std::string mpi_of(std::string_view name, std::string_view content) {
  const bool is_openmpi = content.find("Open MPI") != std::string_view::npos;
  const bool is_mpich = !is_openmpi && (name.starts_with("libmpich.") || name.starts_with("libmpi.so.12") ||
                                        content.find("MPICH") != std::string_view::npos);
  if (!is_openmpi && !is_mpich) return {};
  const auto version = is_openmpi ? version_among_strings(content) : mpich_version(content);
  return std::string(is_openmpi ? "openmpi" : "mpich") + (version.empty() ? "" : " ") + std::string(version);
}

// Those that are MPICH underneath, by what they say of themselves.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> flavours = {
    {{"Intel(R) MPI Library ", "intel-mpi"},
     {"CRAY MPICH version ", "cray-mpich"},
     {"MVAPICH2 Version", "mvapich"},
     {"MVAPICH Version", "mvapich"}}};

void add_mpi(std::string_view name, std::string_view content, const fit::Elf& elf, store::Facts& facts) {
  facts.mpi = mpi_of(name, content);
  if (facts.mpi.empty()) return;
  auto& software = *facts.software;
  if (!elf.soname.empty()) software["mpi-abi"] = elf.soname;
  for (const auto& [words, flavour] : flavours) {
    const auto found = content.find(words);
    if (found == std::string_view::npos) continue;
    const auto rest = content.substr(found + words.size(), 16);
    const auto digit = rest.find_first_of("0123456789");
    const auto version =
        digit == std::string_view::npos ? digit : rest.find_first_not_of("0123456789.", digit);
    software.emplace(flavour,
                     digit == std::string_view::npos ? "" : std::string(rest.substr(digit, version - digit)));
  }
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
  if (is_mpi(name)) return member.size <= largest_mpi;
  if (tells_of_software(member)) return true;
  return member.size <= largest &&
         (is_glibc(name) || is_musl(name) || is_shell(member.path) || is_release_file(member.path));
}

void FactFinder::look(std::string_view path, std::string_view content) {
  if (is_release_file(path)) {
    if (facts_.system.empty()) facts_.system = pretty_name(content);
    return;
  }
  add_software(path, content, *facts_.software);
  const auto elf = fit::read_elf(content);
  if (!elf) return;
  const auto name = name_of(path);
  const bool decides = is_glibc(name) || is_musl(name) || is_shell(path);  // others may be for other machines
  if (decides && facts_.architecture.empty()) facts_.architecture = elf->architecture;
  if (is_glibc(name) && facts_.libc.empty())
    if (const auto version = glibc_version(content); !version.empty()) facts_.libc = "glibc " + version;
  if (is_mpi(name) && facts_.mpi.empty()) add_mpi(name, content, *elf, facts_);
  if (is_musl(name) && facts_.libc.empty()) facts_.libc = "musl";
}

}  // namespace longship::image
