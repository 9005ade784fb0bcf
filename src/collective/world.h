// SPDX-License-Identifier: Apache-2.0
// Which rank this process is and how the others are found: what a launcher (launched_by.h) says in
// environment variables. docs/training.md lists them.
#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "launched_by.h"

namespace longship::collective {

struct World {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  std::string node;  // ranks with the same name share memory
  std::string host;  // where rank 0 listens
  int port = 0;
  int listener = -1;  // rank 0: a listening socket it inherited, or -1
  std::vector<std::byte> secret;
  std::filesystem::path
      meeting_file;           // instead of host, port and secret: where rank 0 leaves them (meeting_file.h)
  std::filesystem::path mpi;  // instead of all of it: the library of the MPI that knows (mpi_library.h)
  bool one_node = false;      // known before the meeting
  std::chrono::seconds patience{60};      // for the others to arrive
  std::chrono::seconds link_timeout{30};  // a node that is not heard of for so long is lost
  int sockets = 1;                        // between two ranks of different nodes; rank 0's counts
};

// From the environment; a process that nobody launched is a world of one. Throws Error naming the variable.
[[nodiscard]] World world_from(const Lookup& variable);
[[nodiscard]] World world_from_environment();

}  // namespace longship::collective
