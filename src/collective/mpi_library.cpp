// SPDX-License-Identifier: Apache-2.0
#include "mpi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace longship::collective {
namespace {

constexpr std::array families = {"openmpi", "mpich"};

// Left by the launchers: mpirun and prted of Open MPI, srun --mpi=pmix; hydra of MPICH and its kin, srun
// --mpi=pmi2.
constexpr std::array of_openmpi = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"};
constexpr std::array of_mpich = {"PMI_SIZE", "PMI_FD", "PMI_RANK", "MPI_LOCALNRANKS"};

}  // namespace

MpiLibrary::MpiLibrary(const std::filesystem::path& file) {
  // Global, because Open MPI's own plug-ins look for its symbols there. Never unloaded: MPI leaves threads
  // and handlers.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw Error("the MPI of this site cannot be used: {}", ::dlerror());
  const auto table = reinterpret_cast<const longship_mpi_calls* (*)()>(::dlsym(library, "longship_mpi"));
  if (table == nullptr)
    throw Error("{}: not a library of Longship's for MPI: {}", file.string(), ::dlerror());
  if (table()->version != LONGSHIP_MPI_VERSION)
    throw Error("{}: made for another version of Longship ({}, not {})", file.string(), table()->version,
                LONGSHIP_MPI_VERSION);
  if (const int code = table()->start(1, &place_); code != 0) {
    char words[256];
    table()->text(code, words, sizeof words);
    throw Error("{}: MPI cannot begin, or not for a process with threads: {}", file.string(), words);
  }
  calls_ = table();
}

MpiLibrary& MpiLibrary::of_process(const std::filesystem::path& file) {
  static MpiLibrary library(file);
  return library;
}

MpiLibrary::~MpiLibrary() {
  calls_->stop();
}

std::vector<int> MpiLibrary::nodes() const {
  std::vector<int> nodes(static_cast<std::size_t>(place_.size));
  if (calls_->nodes(nodes.data()) != 0) throw Error("MPI: the nodes of the ranks could not be gathered");
  return nodes;
}

bool wants_mpi(const Lookup& variable) {
  const auto wanted = variable("LONGSHIP_TRANSPORT").value_or("own");
  if (wanted != "own" && wanted != "mpi")
    throw Error(Failure::usage, "LONGSHIP_TRANSPORT={}: neither \"own\" nor \"mpi\"", wanted);
  return wanted == "mpi";
}

std::string mpi_family(const Lookup& variable) {
  if (const auto said = variable("LONGSHIP_MPI")) {
    if (std::find(families.begin(), families.end(), *said) == families.end())
      throw Error(Failure::usage, "LONGSHIP_MPI={}: neither \"openmpi\" nor \"mpich\"", *said);
    return *said;
  }
  const auto is_set = [&](const char* name) { return variable(name).has_value(); };
  if (std::any_of(of_openmpi.begin(), of_openmpi.end(), is_set)) return "openmpi";
  if (std::any_of(of_mpich.begin(), of_mpich.end(), is_set)) return "mpich";
  throw Error(
      Failure::usage,
      "LONGSHIP_TRANSPORT=mpi, but no MPI has started this process: start it with mpirun, srun --mpi=… or "
      "launch = \"mpi\", or name the family in LONGSHIP_MPI");
}

std::filesystem::path mpi_file(const std::string& family) {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void*>(&mpi_file), &here) == 0 || here.dli_fname == nullptr)
    throw Error("this library does not know where it lies");
  return std::filesystem::path(here.dli_fname).parent_path() / ("liblongship-mpi-" + family + ".so");
}

}  // namespace longship::collective
