// SPDX-License-Identifier: Apache-2.0
// What was decided, as this rank does it: which schedule, in which memory, and what is done to the values
// before and after.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "narrow_transport.h"
#include "request.h"
#include "schedules.h"
#include "set_lane.h"
#include "subset.h"

namespace longship::collective {

class DeviceGroup;

struct Request {
  Announcement what;
  std::byte* data = nullptr;  // changed in place by all-reduce and broadcast; only read by the others
  std::vector<std::uint64_t> splits = {};  // all-to-all: elements for each rank; empty: equal parts
  void* stream = nullptr;                  // on a device: where the work is put
  std::byte* output = nullptr;             // on a device: where the result of those goes that have one
};

// How a request ended. For all-gather and all-to-all the sizes and the bytes are those of each rank in turn,
// for reduce-scatter the sizes are of each rank's part and the bytes this rank's. A join's size is the last
// rank to join, a new process set's its number.
struct Result {
  std::string error;  // empty: it went well
  std::vector<std::uint64_t> counts;
  std::vector<std::byte> gathered;
};

// A process set as its members see it.
struct Circle {
  std::vector<int> ranks;                    // of the world, ascending
  std::unique_ptr<Subset> subset;            // null for the world
  Transport* transport = nullptr;            // among these ranks
  std::vector<int> nodes = {};               // of each rank, numbered from 0; empty: all on one
  std::optional<Lane> lane = {};             // of those on this node, if they share memory
  std::unique_ptr<SetLane> own_lane = {};    // where that of a process set is
  std::shared_ptr<DeviceGroup> device = {};  // null until somebody asks for it
  const bool* holds_back = nullptr;          // the engine's: whether this rank leaves reducing to the others

  [[nodiscard]] Layout layout() const;
  [[nodiscard]] bool shares_memory() const;  // all of it
};

// Those of the world's nodes where these ranks are, numbered anew.
[[nodiscard]] std::vector<int> nodes_of(const std::vector<int>& ranks, const std::vector<int>& world);
[[nodiscard]] int count_nodes(const std::vector<int>& nodes);

// What a rank that has joined puts in the place of what it does not have.
struct Ghost {
  explicit Ghost(const Announcement& what, std::size_t set_size);
  Request request;
  std::vector<std::byte> bytes;
};

class Task {
 public:
  // The requests stay until it is done; several are all-reduces alike.
  // `way`: of an all-reduce, the same on all ranks. `values`: its result before the last scale, if known.
  // `changed`: the process set that is made or removed, on its members.
  Task(const Circle& circle, std::vector<const Request*> requests, std::vector<std::uint64_t> counts, Tag tag,
       Way way, std::vector<std::byte> values = {}, Circle* changed = nullptr);
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] bool step();                                   // true once all is done
  [[nodiscard]] Result take();                                 // of the first request, then
  [[nodiscard]] bool found_nan() const { return found_nan_; }  // in the reduced values
  [[nodiscard]] bool is_left_to_others() const { return restraint_ && restraint_->is_left_to_others; }

 private:
  Schedule schedule();
  Schedule allreduce();
  Schedule direct_and_look(Pieces pieces, Op op);
  Schedule message_allreduce(Values values, Op op);
  Schedule allgather();
  Schedule on_device();
  Schedule alltoall();
  Schedule reducescatter();
  Schedule change_set();
  void finish();
  void finish_allreduce();
  void finish_reducescatter();
  [[nodiscard]] Transport& chosen_transport();
  [[nodiscard]] const Announcement& what() const { return requests_.front()->what; }

  const Circle& circle_;
  std::vector<const Request*> requests_;
  std::optional<NarrowTransport> narrow_;  // if values are sent in half as many bits
  Transport& transport_;                   // that, or the circle's
  std::vector<std::uint64_t> counts_;
  Tag tag_;
  Way way_;
  std::vector<std::byte> known_;  // the result
  Circle* changed_;
  std::optional<Subset> on_node_;  // the members of that on this node
  std::vector<std::byte> packed_;  // several tensors as one, where the schedule cannot do with pieces
  std::vector<std::byte> gathered_;
  bool found_nan_ = false;
  bool looked_for_nan_ = false;  // by the schedule
  std::optional<Restraint> restraint_;
  Schedule schedule_;
};

}  // namespace longship::collective
