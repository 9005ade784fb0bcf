// SPDX-License-Identifier: Apache-2.0
// A lane (lane.h) for those ranks of a node that belong to a process set: they reduce in shared memory
// without waiting for the others of the node.
//
// It lies in the arena of the lowest of them, which tells the rest where. The memory may be given back only
// when no rank can be in an operation any more: an end without that leaves it to the arena's.
#pragma once
#include <memory>
#include <vector>

#include "schedule.h"
#include "segment.h"
#include "transport.h"

namespace longship::collective {

class SetLane {
 public:
  // `members`: ascending, counted within the node, several, this one among them. `start`: where they share
  // it.
  SetLane(Segment& segment, std::vector<int> members, std::byte* start);
  SetLane(const SetLane&) = delete;
  SetLane& operator=(const SetLane&) = delete;

  [[nodiscard]] Lane lane() const;
  void release();  // by each, when all are done

 private:
  Segment& segment_;
  std::vector<int> members_;
  std::byte* start_;
};

// Both are for all ranks of `node`, the transport of the members alone. Where memory cannot be had none of
// them gets a lane.
[[nodiscard]] Schedule open_set_lane(Transport& node, Tag tag, Segment& segment, std::vector<int> members,
                                     std::unique_ptr<SetLane>& opened);
[[nodiscard]] Schedule close_set_lane(Transport& node, Tag tag, std::unique_ptr<SetLane>& closed);

}  // namespace longship::collective
