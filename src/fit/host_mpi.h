// SPDX-License-Identifier: Apache-2.0
// The host's MPI, let into an image of the same ABI: it knows the machine's network, the image's does not.
//
// One library is not enough. What it needs in turn, what it loads by name while it runs (plug-ins, providers
// of networks), its settings and its devices come along; a recipe for each maker says what those are. The C
// library stays the image's; so the image's has to be as new as the host's libraries want.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "fit.h"
#include "libraries.h"

namespace longship::fit {

struct Closure {
  std::string maker;   // "mpich", "cray-mpich", "intel-mpi", "mvapich", "openmpi", "spectrum-mpi"
  std::string family;  // whose ABI it has: "mpich" or "openmpi"
  // Before the image's own of the same name: MPI itself under all names of its ABI, and what belongs to its
  // communication.
  std::vector<HostLibrary> libraries;
  // For what the image lacks: libraries that any program may need, of which the image's own may be newer.
  std::vector<HostLibrary> others;
  // Plug-ins, providers and settings: at the same paths in the box, for those are compiled in.
  std::vector<std::filesystem::path> places;
  std::vector<std::filesystem::path> devices;  // that it uses and that are there; a box has the host's /dev
  Environment environment;
  std::vector<std::string> missing;  // needed, and not on this host
};

// The library of a host's MPI with this ABI; nothing if there is none where its loader, its modules
// (`environment`) or its vendors put it.
[[nodiscard]] std::optional<std::filesystem::path> find_host_mpi(const FileTree& host,
                                                                 const Environment& environment,
                                                                 std::string_view family);

// An Error that tells what `library` is instead, if it is no MPI that there is a recipe for.
[[nodiscard]] Closure host_mpi(const FileTree& host, const std::filesystem::path& library,
                               const Environment& environment);

// The newest glibc that something of it wants, and which library that is.
struct Wanted {
  Version glibc;
  std::string library;
};
[[nodiscard]] std::optional<Wanted> wanted_of(const Closure& closure);

// What goes into this image: without a libstdc++ that the image has as new as it is needed. Error with
// Failure::impossible, the symbol and the remedy if the image is of another ABI or its glibc too old.
[[nodiscard]] Closure fitted(Closure closure, const ImageFacts& image);

// What an image that is a directory has, as far as it matters here.
[[nodiscard]] ImageFacts facts_of_tree(const FileTree& image);

}  // namespace longship::fit
