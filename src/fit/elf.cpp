// SPDX-License-Identifier: Apache-2.0
#include "elf.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace longship::fit {
namespace {

constexpr std::size_t most_entries = 4096;  // of any table; real libraries have dozens
constexpr std::size_t longest_text = 4096;

std::string architecture_of(const Elf64_Ehdr& header) {
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

std::optional<Elf64_Ehdr> header_of(std::string_view file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header || !file.starts_with(std::string_view(ELFMAG, SELFMAG))) return {};
  std::memcpy(&header, file.data(), sizeof header);
  return header;
}

// 64 bits, the lower byte first.
bool is_ours(const Elf64_Ehdr& header) {
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
}

// The file as the loader would see it: addresses become offsets, and nothing is read beyond the end.
class Loaded {
 public:
  explicit Loaded(std::string_view file) : file_(file) {
    std::memcpy(&header_, file.data(), sizeof header_);
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return;
    for (std::size_t i = 0; i < header_.e_phnum && i < most_entries; ++i)
      if (const auto segment = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr)))
        segments_.push_back(*segment);
  }

  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return {};
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }

  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const auto& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz && segment.p_offset <= file_.size())
        return segment.p_offset + (address - segment.p_vaddr);
    return {};
  }

  [[nodiscard]] std::vector<std::string_view> constants() const {
    std::vector<std::string_view> parts;
    for (const auto& segment : segments_)
      if (segment.p_type == PT_LOAD && segment.p_flags == PF_R && segment.p_offset <= file_.size())
        parts.push_back(file_.substr(segment.p_offset, segment.p_filesz));
    return parts;
  }

  [[nodiscard]] std::vector<Elf64_Dyn> dynamic() const {
    std::vector<Elf64_Dyn> entries;
    for (const auto& segment : segments_) {
      if (segment.p_type != PT_DYNAMIC) continue;
      for (std::size_t i = 0; i < segment.p_filesz / sizeof(Elf64_Dyn) && i < most_entries; ++i) {
        const auto entry = at<Elf64_Dyn>(segment.p_offset + i * sizeof(Elf64_Dyn));
        if (!entry || entry->d_tag == DT_NULL) break;
        entries.push_back(*entry);
      }
      break;
    }
    return entries;
  }

  [[nodiscard]] std::string text(std::uint64_t offset) const {
    if (offset >= file_.size()) return {};
    const auto rest = file_.substr(offset, longest_text);
    const auto end = rest.find('\0');
    return end == std::string_view::npos ? std::string() : printable(rest.substr(0, end));
  }

 private:
  std::string_view file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

struct Dynamic {
  std::uint64_t strings = 0, needs = 0, defines = 0, count_of_needs = 0, count_of_defines = 0;
};

Dynamic tables_of(const Loaded& loaded, const std::vector<Elf64_Dyn>& entries) {
  Dynamic tables;
  for (const auto& entry : entries) {
    const auto place = [&] { return loaded.offset_of(entry.d_un.d_ptr).value_or(0); };
    const auto count = std::min<std::uint64_t>(entry.d_un.d_val, most_entries);
    if (entry.d_tag == DT_STRTAB) tables.strings = place();
    if (entry.d_tag == DT_VERNEED) tables.needs = place();
    if (entry.d_tag == DT_VERNEEDNUM) tables.count_of_needs = count;
    if (entry.d_tag == DT_VERDEF) tables.defines = place();
    if (entry.d_tag == DT_VERDEFNUM) tables.count_of_defines = count;
  }
  return tables;
}

void add(std::vector<std::string>& texts, std::string text) {
  if (!text.empty() && texts.size() < most_entries) texts.push_back(std::move(text));
}

// One Verneed for each library that is needed, with a chain of versions.
std::vector<std::string> wanted_versions(const Loaded& loaded, const Dynamic& tables) {
  std::vector<std::string> found;
  std::uint64_t at = tables.needs;
  for (std::uint64_t i = 0; at != 0 && i < tables.count_of_needs && found.size() < most_entries; ++i) {
    const auto need = loaded.at<Elf64_Verneed>(at);
    if (!need) break;
    std::uint64_t below = at + need->vn_aux;
    for (std::size_t j = 0; j < need->vn_cnt && found.size() < most_entries; ++j) {
      const auto version = loaded.at<Elf64_Vernaux>(below);
      if (!version) break;
      add(found, loaded.text(tables.strings + version->vna_name));
      if (version->vna_next == 0) break;
      below += version->vna_next;
    }
    if (need->vn_next == 0) break;
    at += need->vn_next;
  }
  return found;
}

std::vector<std::string> own_versions(const Loaded& loaded, const Dynamic& tables) {
  std::vector<std::string> found;
  std::uint64_t at = tables.defines;
  for (std::uint64_t i = 0; at != 0 && i < tables.count_of_defines; ++i) {
    const auto define = loaded.at<Elf64_Verdef>(at);
    if (!define) break;
    if ((define->vd_flags & VER_FLG_BASE) == 0)  // that one is the library's own name
      if (const auto name = loaded.at<Elf64_Verdaux>(at + define->vd_aux))
        add(found, loaded.text(tables.strings + name->vda_name));
    if (define->vd_next == 0) break;
    at += define->vd_next;
  }
  return found;
}

}  // namespace

std::vector<std::string_view> constants_of(std::string_view file) {
  const auto header = header_of(file);
  if (!header || !is_ours(*header)) return {file};
  auto parts = Loaded(file).constants();
  return parts.empty() ? std::vector{file} : parts;
}

std::optional<Elf> read_elf(std::string_view file) {
  const auto header = header_of(file);
  if (!header) return {};
  Elf elf;
  elf.architecture = architecture_of(*header);
  if (!is_ours(*header)) return elf;
  const Loaded loaded(file);
  const auto entries = loaded.dynamic();
  const auto tables = tables_of(loaded, entries);
  if (tables.strings == 0) return elf;
  for (const auto& entry : entries) {
    const bool is_path = entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && !is_path) continue;
    const auto text = loaded.text(tables.strings + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) add(elf.needed, text);
    if (entry.d_tag == DT_SONAME) elf.soname = text;
    if (is_path)
      for (const auto part : split(text, ':')) add(elf.runpath, std::string(part));
  }
  elf.wants = wanted_versions(loaded, tables);
  elf.has = own_versions(loaded, tables);
  return elf;
}

std::optional<Version> wanted_glibc(const Elf& elf) {
  auto wanted = highest(elf.wants, "GLIBC_");
  const Version relr{2, 36};  // the first that understands compact relocations
  const bool has_relr = std::find(elf.wants.begin(), elf.wants.end(), "GLIBC_ABI_DT_RELR") != elf.wants.end();
  return has_relr && (!wanted || *wanted < relr) ? relr : wanted;
}

std::optional<Version> highest(const std::vector<std::string>& versions, std::string_view prefix) {
  std::optional<Version> best;
  for (const auto& version : versions) {
    if (!version.starts_with(prefix)) continue;
    const auto found = Version::parse(std::string_view(version).substr(prefix.size()));
    if (found && (!best || *best < *found)) best = found;
  }
  return best;
}

}  // namespace longship::fit
