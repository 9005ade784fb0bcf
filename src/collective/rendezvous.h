// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job find each other.
//
// Rank 0 listens at World::host:port, or leaves word of where it does (meeting_file.h). Every other rank
// connects, greets (greeting.h) and says where it can be reached; when all have come rank 0 tells everybody
// where everybody is, and how its clock stands. Then the ranks of a node meet at its lowest rank, which hands
// them the shared memory, and ranks of different nodes connect to each other.
#pragma once
#include "stream_transport.h"
#include "world.h"

namespace longship::collective {

struct Meeting {
  Wiring wiring;
  Duration clock_offset{0};  // rank 0's clock minus ours
  int local_rank = 0, local_size = 1;
  std::vector<int> nodes = {0};  // by rank: its node's number, counted in the order of their lowest ranks
};

// Throws Error if somebody does not come in time: "rank 3 of 4 did not arrive within 60 s".
[[nodiscard]] Meeting meet(const World& world);

}  // namespace longship::collective
