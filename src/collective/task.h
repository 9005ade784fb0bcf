// SPDX-License-Identifier: Apache-2.0
// What was decided, as this rank does it: which schedule, in which memory, and what is done to the values
// before and after.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "request.h"
#include "schedules.h"
#include "subset.h"

namespace longship::collective {

struct Request {
  Announcement what;
  std::byte* data = nullptr;  // changed in place by all-reduce and broadcast; only read by the others
  std::vector<std::uint64_t> splits = {};  // all-to-all: elements for each rank; empty: equal parts
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
  std::vector<int> ranks;          // of the world, ascending
  std::unique_ptr<Subset> subset;  // null for the world
  Transport* transport = nullptr;  // among these ranks
  Segment* segment = nullptr;      // null unless exactly these share it
  // The world's: the node of each rank, and the segment of this one's.
  std::vector<int> nodes = {};
  Segment* node_segment = nullptr;

  [[nodiscard]] Layout layout() const;
};

// What a rank that has joined puts in the place of what it does not have.
struct Ghost {
  explicit Ghost(const Announcement& what, std::size_t set_size);
  Request request;
  std::vector<std::byte> bytes;
};

class Task {
 public:
  // The requests stay until it is done; several are all-reduces alike.
  // `way`: of an all-reduce, the same on all ranks.
  Task(const Circle& circle, std::vector<const Request*> requests, std::vector<std::uint64_t> counts, Tag tag,
       Way way);
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] bool step();                                          // true once all is done
  [[nodiscard]] Result take();                                        // of the first request, then
  [[nodiscard]] std::size_t nan_count() const { return nan_count_; }  // in the reduced values

 private:
  Schedule schedule();
  Schedule allreduce();
  Schedule message_allreduce(Values values, Op op);
  Schedule allgather();
  Schedule alltoall();
  Schedule reducescatter();
  void finish();
  void finish_allreduce();
  void finish_reducescatter();
  [[nodiscard]] const Announcement& what() const { return requests_.front()->what; }

  const Circle& circle_;
  std::vector<const Request*> requests_;
  std::vector<std::uint64_t> counts_;
  Tag tag_;
  Way way_;
  std::vector<std::byte> packed_;  // several tensors as one, where the schedule cannot do with pieces
  std::vector<std::byte> gathered_;
  std::size_t nan_count_ = 0;
  Schedule schedule_;
};

}  // namespace longship::collective
