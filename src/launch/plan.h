// SPDX-License-Identifier: Apache-2.0
// What is to be started: plain data, the same for every node. The launcher makes it, node helpers receive it
// as JSON.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "box/box.h"
#include "engine.h"
#include "formats/fields.h"

namespace longship::launch {

struct Boxed {
  box::Spec spec;
  Environment environment;  // the image's own
  std::string libc = {};    // "glibc 2.36", as store::Facts has it; empty: not known
  Engine engine = Engine::own;
  bool entered = false;  // this process is inside already: an engine's container. Not a part of the plan.
};

struct Plan {
  std::vector<std::string> command;
  Environment environment;       // over what the box or the host gives: --env, [env]
  std::optional<Boxed> box;      // none: this machine's own software
  std::vector<int> ranks = {1};  // on each node; their number is the number of nodes
  int threads_per_rank = 0;      // 0: the node's cores, divided
  bool bind = true;              // each rank to its own cores
  int gpus_per_rank = 0;         // given to each rank by its number on the node
  bool mpi = false;              // each rank is a task of the MPI launcher, with a helper of its own (mpi.h)
  std::filesystem::path
      directory;  // where ranks start; empty: where the launcher is. In a box, a path inside it.
  std::filesystem::path output;  // rank-00000.out and .err go there; empty: only to the screen
  std::filesystem::path record;  // LONGSHIP_RECORD of the ranks, as they see it; empty: none
  std::string secret;            // 64 hex digits that the ranks prove to know; never on a command line
  std::chrono::milliseconds grace{5000};  // between SIGTERM and SIGKILL

  [[nodiscard]] int nodes() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int size() const;                // ranks on all nodes
  [[nodiscard]] int first_rank(int node) const;  // of a node; its other ranks follow
};

// Ranks spread over nodes as evenly as they go: 5 on 2 is {3, 2}.
[[nodiscard]] std::vector<int> spread(int ranks, int nodes);

// From the kernel's random numbers.
[[nodiscard]] std::string make_secret();

// One line. The secret goes with it: it travels through a pipe, never through a file or a command line.
[[nodiscard]] std::string to_json(const Plan& plan);
[[nodiscard]] Plan plan_from_json(std::string_view text);
[[nodiscard]] formats::Value to_value(const Boxed& boxed);
[[nodiscard]] Boxed boxed_from(const formats::Fields& fields, std::string_view key);

}  // namespace longship::launch
