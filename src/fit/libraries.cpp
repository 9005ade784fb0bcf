// SPDX-License-Identifier: Apache-2.0
#include "libraries.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace longship::fit {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_files = 2000;  // a closure has dozens

void read_configuration(const FileTree& host, const fs::path& file, int depth, std::vector<fs::path>& found);

// "include ld.so.conf.d/*.conf": the only kind of pattern that is used.
void read_included(const FileTree& host, const fs::path& pattern, int depth, std::vector<fs::path>& found) {
  const auto name = pattern.filename().string();
  if (!name.starts_with('*')) return read_configuration(host, pattern, depth, found);
  for (const auto& one : host.names_in(pattern.parent_path()))
    if (one.ends_with(name.substr(1))) read_configuration(host, pattern.parent_path() / one, depth, found);
}

void read_configuration(const FileTree& host, const fs::path& file, int depth, std::vector<fs::path>& found) {
  if (depth > 4) return;
  const auto text = host.text(file);
  for (auto line : split(text, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (line.starts_with("include "))
      read_included(host, file.parent_path() / fs::path(std::string(trim(line.substr(8)))), depth + 1, found);
    else if (line.starts_with('/'))
      found.emplace_back(line);
  }
}

std::vector<fs::path> runpath_of(const Elf& elf, const fs::path& file) {
  std::vector<fs::path> directories;
  for (std::string part : elf.runpath) {
    for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
      if (const auto at = part.find(word); at != std::string::npos)
        part.replace(at, word.size(), file.parent_path().string());
    if (part.starts_with('/')) directories.push_back(fs::path(part).lexically_normal());
  }
  return directories;
}

HostLibrary library_of(const Elf& elf, const fs::path& path, std::string name) {
  return {std::move(name), path, wanted_glibc(elf), highest(elf.wants, "GLIBCXX_")};
}

}  // namespace

void add_new(std::vector<fs::path>& all, const fs::path& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

std::vector<fs::path> loader_directories(const FileTree& host, const Environment& environment) {
  std::vector<fs::path> directories, configured;
  if (const auto own = environment.find("LD_LIBRARY_PATH"); own != environment.end())
    for (const auto part : split(own->second, ':'))
      if (part.starts_with('/')) add_new(directories, part);
  read_configuration(host, "/etc/ld.so.conf", 0, configured);
  for (const auto& one : configured) add_new(directories, one);
  for (const char* one : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) add_new(directories, one);
  return directories;
}

std::optional<fs::path> find_library(const FileTree& host, const std::string& name,
                                     const std::vector<fs::path>& directories) {
  for (const auto& directory : directories)
    if (auto path = host.real(directory / name)) return path;
  return {};
}

const Elf& Needs::read(const fs::path& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  const MappedFile file(host_.outside(path));
  return files_.emplace(path, read_elf(file.bytes()).value_or(Elf())).first->second;
}

HostLibrary Needs::library(const fs::path& path, std::string name) {
  return library_of(read(path), path, std::move(name));
}

void Needs::follow(const std::vector<fs::path>& files) {
  std::vector<fs::path> to_do = files;
  for (std::size_t i = 0; i < to_do.size() && followed_.size() < most_files; ++i) {
    const auto file = to_do[i];  // it grows meanwhile
    if (followed_.insert(file).second) follow(file, to_do);
  }
}

void Needs::follow(const fs::path& file, std::vector<fs::path>& to_do) {
  const auto& elf = read(file);
  auto places = runpath_of(elf, file);
  add_new(places, file.parent_path());
  places.insert(places.end(), directories_.begin(), directories_.end());
  for (const auto& name : elf.needed) {
    if (is_of_glibc(name) || name.find('/') != std::string::npos || !names_.insert(name).second) continue;
    const auto path = find_library(host_, name, places);
    if (!path) {
      missing_.push_back(name);
      continue;
    }
    found_.push_back(library(*path, name));
    to_do.push_back(*path);
  }
}

HostLibrary library_at(const FileTree& host, const fs::path& path, std::string name) {
  const MappedFile file(host.outside(path));
  return library_of(read_elf(file.bytes()).value_or(Elf()), path, std::move(name));
}

bool is_of_glibc(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "librt.so.", "libresolv.so.", "libutil.so.",
       "libnsl.so.1", "libanl.so.", "libmvec.so.", "libthread_db.so.", "libBrokenLocale.so.", "libnss_files.",
       "libnss_dns.", "libnss_compat.", "ld-linux", "ld64.so.", "ld.so.", "linux-vdso"});
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return name.starts_with(one); });
}

}  // namespace longship::fit
