// SPDX-License-Identifier: Apache-2.0
// Which rank this process is and how the others are found: what a launcher says in environment variables.
// docs/training.md lists them.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace longship::collective {

struct World {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  std::string node;  // ranks with the same name share memory
  std::string host;  // where rank 0 listens
  int port = 0;
  int listener = -1;  // rank 0: a listening socket it inherited, or -1
  std::vector<std::byte> secret;
  std::chrono::seconds patience{60};  // for the others to arrive
};

using Lookup = std::function<std::optional<std::string>(const char*)>;

// From the environment; a process that nobody launched is a world of one. Throws Error naming the variable.
[[nodiscard]] World world_from(const Lookup& variable);
[[nodiscard]] World world_from_environment();

}  // namespace longship::collective
