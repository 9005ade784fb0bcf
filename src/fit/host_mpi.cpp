// SPDX-License-Identifier: Apache-2.0
#include "host_mpi.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "elf.h"
#include "mpi_recipes.h"

namespace longship::fit {
namespace fs = std::filesystem;
namespace {

using Paths = std::vector<fs::path>;

bool has(const std::vector<HostLibrary>& libraries, std::string_view name) {
  return std::any_of(libraries.begin(), libraries.end(),
                     [&](const HostLibrary& one) { return one.name == name; });
}

const Recipe* recipe_for(std::string_view content) {
  const auto parts = constants_of(content);
  const auto says = [&](std::string_view words) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return part.find(words) != std::string_view::npos; });
  };
  for (const auto& recipe : mpi_recipes())
    if (std::any_of(recipe.says.begin(), recipe.says.end(), says)) return &recipe;
  return nullptr;
}

// "libmpi_cxx.so.40", not "libmpi_cxx.so.40.30.1": programs ask for the former.
bool is_soname(std::string_view name) {
  const auto at = name.find(".so.");
  return at != std::string_view::npos && name.size() > at + 4 &&
         name.find_first_not_of("0123456789", at + 4) == std::string_view::npos;
}

// The name as it stands in the file system and what the loader calls it may be in different directories:
// Debian's alternatives.
Paths own_directories(const FileTree& host, const fs::path& library) {
  Paths directories = {library.parent_path()};
  if (const auto real = host.real(library)) add_new(directories, real->parent_path());
  return directories;
}

// A place of a recipe that is there; directories that hold more than this MPI are never taken whole.
std::optional<fs::path> place_at(const FileTree& host, std::string_view place, const fs::path& directory) {
  const auto path =
      (place.starts_with('/') ? fs::path(place) : directory / fs::path(place)).lexically_normal();
  static const Paths shared = {"/",    "/etc", "/usr",   "/usr/etc", "/usr/share", "/usr/local/etc",
                               "/opt", "/lib", "/lib64", "/usr/lib", "/usr/lib64"};
  if (std::find(shared.begin(), shared.end(), path) != shared.end() || !host.real(path)) return {};
  return path;
}

// Shared objects below a directory, which are loaded as plug-ins and need libraries in their turn.
void add_plug_ins(const FileTree& host, const fs::path& directory, int depth, Paths& plug_ins) {
  if (depth > 4) return;
  for (const auto& name : host.names_in(directory)) {
    const auto path = directory / name;
    if (host.is_directory(path))
      add_plug_ins(host, path, depth + 1, plug_ins);
    else if (name.find(".so") != std::string::npos)
      if (const auto real = host.real(path)) add_new(plug_ins, *real);
  }
}

Paths directories_with(Paths first, const Paths& more) {
  for (const auto& one : more) add_new(first, one);
  return first;
}

// Everything grows from here: files whose needs are looked at, libraries that are taken, places.
class Collector {
 public:
  Collector(const FileTree& host, const Environment& environment, const fs::path& library,
            const Recipe& recipe)
      : host_(host),
        recipe_(recipe),
        own_(own_directories(host, library)),
        directories_(directories_with(own_, loader_directories(host, environment))),
        needs_(host, directories_) {
    closure_.maker = recipe.maker;
    closure_.family = recipe.family;
  }

  Closure collect(const fs::path& library) {
    take(library.filename().string(), *host_.real(library));
    take_siblings();
    for (const auto name : recipe_.loads) take_by_name(std::string(name));
    for (const auto& directory : own_)
      for (const auto place : recipe_.places) (void)add_place(place, directory);
    // Companions bring plug-ins, those need libraries, and these may have companions.
    for (std::size_t before = 0; before != files_.size();) {
      before = files_.size();
      follow_needs();
      add_companions();
    }
    find_devices();
    return std::move(closure_);
  }

 private:
  void take(const std::string& name, const fs::path& path) {
    auto& list = is_communication(name) ? closure_.libraries : closure_.others;
    add_new(files_, path);
    if (!has(list, name)) list.push_back(needs_.library(path, name));
    for (auto& alias : aliases(closure_.family, name))
      if (!has(list, alias)) list.push_back(needs_.library(path, alias));
  }

  void take_by_name(const std::string& name) {
    auto places = directories_;
    for (const auto& directory : own_)  // Intel's and Cray's lie beside, in directories of their own
      for (const char* below : {"../libfabric/lib", "../../libfabric/lib", "../../opt/mpi/libfabric/lib"})
        places.push_back((directory / below).lexically_normal());
    if (const auto path = find_library(host_, name, places)) take(name, *path);
  }

  void take_siblings() {
    for (const auto& directory : own_)
      for (const auto& name : host_.names_in(directory)) {
        const bool wanted =
            is_soname(name) && std::any_of(recipe_.siblings.begin(), recipe_.siblings.end(),
                                           [&](std::string_view start) { return name.starts_with(start); });
        if (const auto path = wanted ? host_.real(directory / name) : std::nullopt) take(name, *path);
      }
  }

  std::optional<fs::path> add_place(std::string_view place, const fs::path& directory) {
    auto path = place_at(host_, place, directory);
    if (!path || std::find(closure_.places.begin(), closure_.places.end(), *path) != closure_.places.end())
      return path;
    closure_.places.push_back(*path);
    if (host_.is_directory(*path)) add_plug_ins(host_, *path, 0, files_);
    return path;
  }

  void follow_needs() {
    needs_.follow(files_);
    for (const auto& library : needs_.found()) take(library.name, library.path);
    closure_.missing = needs_.missing();
  }

  void add_companions() {
    const auto libraries = closure_.libraries;  // it grows meanwhile
    for (const auto& library : libraries)
      for (const auto& companion : companions()) {
        if (!library.name.starts_with(companion.library)) continue;
        for (const auto place : companion.places) {
          const auto path = add_place(place, library.path.parent_path());
          if (path && !companion.variable.empty())
            closure_.environment.emplace(companion.variable, path->string());
        }
      }
  }

  void find_devices() {
    const auto names = host_.names_in("/dev");
    for (const auto pattern : recipe_.devices)
      for (const auto& name : names)
        if (pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                   : name == pattern)
          closure_.devices.push_back("/dev/" + name);
  }

  const FileTree& host_;
  const Recipe& recipe_;
  const Paths own_, directories_;
  Needs needs_;
  Paths files_;
  Closure closure_;
};

// Compilers' libraries, which an image that needs them has itself; only libstdc++ tells how new it is.
bool is_runtime_of_compiler(std::string_view name) {
  for (const auto* one :
       {"libstdc++.", "libgcc_s.", "libgfortran.", "libquadmath.", "libgomp.", "libatomic."})
    if (name.starts_with(one)) return true;
  return false;
}

// libstdc++ and libgcc_s come along only where the image has none, or an older one than is needed.
bool needs_hosts_libstdcxx(const Closure& closure, const ImageFacts& image) {
  std::optional<Version> wanted;
  for (const auto* list : {&closure.libraries, &closure.others})
    for (const auto& library : *list)
      if (library.libstdcxx && (!wanted || *wanted < *library.libstdcxx)) wanted = library.libstdcxx;
  if (!wanted || !image.looked_for_software) return false;
  return !image.libstdcxx || *image.libstdcxx < *wanted;
}

std::string readable(std::string_view family) {
  return family == "openmpi" ? "Open MPI" : "MPICH";
}

}  // namespace

std::optional<fs::path> find_host_mpi(const FileTree& host, const Environment& environment,
                                      std::string_view family) {
  Paths directories;
  for (const auto variable : module_variables()) {
    const auto found = environment.find(std::string(variable));
    if (found == environment.end() || !found->second.starts_with('/')) continue;
    for (const char* below : {"lib-abi-mpich", "lib/release", "lib", "lib64", "intel64/lib/release"})
      directories.push_back(fs::path(found->second) / below);
  }
  for (const auto& one : loader_directories(host, environment)) add_new(directories, one);
  for (const auto& directory : directories)
    for (const auto& recipe : mpi_recipes())
      for (const auto name : recipe.libraries) {
        const auto path = directory / fs::path(name);
        const auto real = recipe.family == family ? host.real(path) : std::nullopt;
        if (!real) continue;
        const MappedFile file(host.outside(*real));
        const auto* actual = recipe_for(file.bytes());
        if (actual != nullptr && actual->family == family) return path;
      }
  return {};
}

Closure host_mpi(const FileTree& host, const fs::path& library, const Environment& environment) {
  const auto real = host.real(library);
  if (!real) throw Error("there is no MPI library {}", printable(library.string()));
  const MappedFile file(host.outside(*real));
  if (!read_elf(file.bytes())) throw Error("{} is not a library", printable(library.string()));
  const auto* recipe = recipe_for(file.bytes());
  if (recipe == nullptr)
    throw Error(
        "{} is no MPI that is known here: MPICH, Cray MPICH, Intel MPI, MVAPICH, Open MPI and Spectrum MPI "
        "are",
        printable(library.string()));
  return Collector(host, environment, library, *recipe).collect(library);
}

std::optional<Wanted> wanted_of(const Closure& closure) {
  std::optional<Wanted> wanted;
  const auto look_at = [&](const HostLibrary& library) {
    if (library.glibc && (!wanted || wanted->glibc < *library.glibc))
      wanted = Wanted{*library.glibc, library.name};
  };
  for (const auto& library : closure.libraries) look_at(library);
  for (const auto& library : closure.others)
    if (!is_runtime_of_compiler(library.name)) look_at(library);  // the image's own, if it may be
  return wanted;
}

Closure fitted(Closure closure, const ImageFacts& image) {
  const auto family = mpi_family(image.mpi);
  if (!family.empty() && family != closure.family)
    throw Error(Failure::impossible, "the image has {}, the MPI of this host is {}: build a variant with {}",
                readable(family), readable(closure.family), readable(closure.family));
  if (needs_hosts_libstdcxx(closure, image))  // before the image's, which is older
    for (const auto& library : closure.others)
      if (library.name.starts_with("libstdc++.") || library.name.starts_with("libgcc_s."))
        closure.libraries.push_back(library);
  std::erase_if(closure.others, [](const HostLibrary& one) { return is_runtime_of_compiler(one.name); });
  const auto wanted = wanted_of(closure);
  if (wanted && !image.glibc && image.looked_for_software)
    throw Error(Failure::impossible,
                "the MPI of this host cannot be let in: its {} wants GLIBC_{}, and the image has no glibc: "
                "use an image "
                "with glibc, such as debian:bookworm",
                wanted->library, wanted->glibc.text());
  if (wanted && image.glibc && *image.glibc < wanted->glibc)
    throw Error(
        Failure::impossible,
        "the MPI of this host cannot be let in: its {} wants GLIBC_{}, and the image has glibc {}: use "
        "the image's own MPI, or build the image on a distribution with glibc {} or newer",
        wanted->library, wanted->glibc.text(), image.glibc->text(), wanted->glibc.text());
  return closure;
}

ImageFacts facts_of_tree(const FileTree& image) {
  ImageFacts facts;
  const auto directories = loader_directories(image, {});
  const auto highest_in = [&](const char* name, std::string_view prefix) -> std::optional<Version> {
    const auto path = find_library(image, name, directories);
    if (!path) return {};
    const MappedFile file(image.outside(*path));
    const auto elf = read_elf(file.bytes());
    if (elf && facts.architecture.empty()) facts.architecture = elf->architecture;
    return elf ? highest(elf->has, prefix) : std::nullopt;
  };
  facts.glibc = highest_in("libc.so.6", "GLIBC_");
  facts.libstdcxx = highest_in("libstdc++.so.6", "GLIBCXX_");
  facts.looked_for_software = true;
  for (const char* family : {"openmpi", "mpich"})
    if (facts.mpi.empty() && find_host_mpi(image, {}, family)) facts.mpi = family;
  return facts;
}

}  // namespace longship::fit
