// SPDX-License-Identifier: Apache-2.0
// A site's MPI, loaded and begun: for jobs that set LONGSHIP_TRANSPORT=mpi.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "launched_by.h"
#include "mpi/longship_mpi.h"

namespace longship::collective {

class MpiLibrary {
 public:
  // Loads the library behind which an MPI is, and begins MPI. An Error says which file, and what it lacks.
  explicit MpiLibrary(const std::filesystem::path& file);
  // The one of this process: MPI can be begun once, so it stays until the process ends.
  [[nodiscard]] static MpiLibrary& of_process(const std::filesystem::path& file);
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  [[nodiscard]] const longship_mpi_calls& calls() const { return *calls_; }
  [[nodiscard]] const longship_mpi_place& place() const { return place_; }
  [[nodiscard]] std::vector<int> nodes() const;  // by rank; all of them ask together

 private:
  const longship_mpi_calls* calls_ = nullptr;
  longship_mpi_place place_{};
};

// Whether messages are to go through MPI: LONGSHIP_TRANSPORT, which is "own" or "mpi".
[[nodiscard]] bool wants_mpi(const Lookup& variable);

// Of which family the MPI is that started this process, "openmpi" or "mpich": LONGSHIP_MPI, or what its
// launcher left in the environment.
[[nodiscard]] std::string mpi_family(const Lookup& variable);

// liblongship-mpi-FAMILY.so beside this library.
[[nodiscard]] std::filesystem::path mpi_file(const std::string& family);

}  // namespace longship::collective
