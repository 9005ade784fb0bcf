// SPDX-License-Identifier: Apache-2.0
// Whatever sinfo, scontrol, srun, mpirun and ldconfig say, something sensible is made of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "site/answers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship::site;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& partition : parse_sinfo(text))
    if (partition.name.empty() || partition.nodes < 0 || partition.max_nodes < 0 ||
        partition.max_nodes > partition.nodes || partition.cores < 0 || partition.gpus < 0 ||
        partition.max_walltime.count() < 0)
      std::abort();
  (void)parse_config(text);
  (void)parse_mpi_plugins(text);
  (void)parse_mpi_version(text);
  (void)find_mpi_library(text, "mpich");
  return 0;
}
