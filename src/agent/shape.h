// SPDX-License-Identifier: Apache-2.0
// What an allocation has to be like for an attempt. Attempts of one shape can follow each other in one pilot.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

#include "job/job.h"

namespace longship::agent {

struct Shape {
  std::string queue;
  int nodes = 1;
  int ranks_per_node = 1;
  int threads_per_rank = 0;
  int gpus_per_rank = 0;
  std::uint64_t memory_per_node = 0;
  std::string account;
  [[nodiscard]] auto operator<=>(const Shape&) const = default;
};

[[nodiscard]] inline Shape shape_of(const std::string& queue, const job::Job& job) {
  const auto& needs = job.needs;
  return {queue,
          needs.nodes,
          needs.ranks_per_node,
          needs.threads_per_rank,
          needs.gpus_per_rank,
          needs.memory_per_node,
          job.account};
}

[[nodiscard]] inline job::Needs needs_of(const Shape& shape) {
  job::Needs needs;
  needs.nodes = shape.nodes;
  needs.ranks_per_node = shape.ranks_per_node;
  needs.threads_per_rank = shape.threads_per_rank;
  needs.gpus_per_rank = shape.gpus_per_rank;
  needs.memory_per_node = shape.memory_per_node;
  return needs;
}

}  // namespace longship::agent
