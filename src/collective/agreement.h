// SPDX-License-Identifier: Apache-2.0
// Rank 0's knowledge of all process sets, and its decisions: pure computation, no messages, no clock.
//
// Each set has a Coordinator, and what one set waits for holds up no other. Every rank does what is decided
// in the order of this one sequence, so ranks that belong to several sets never wait for each other in a
// circle.
//
// A standstill is told from slowness without any clock: ranks say when all that they could do next waits for
// others. When nothing that such ranks wait for can ever be announced, they are told what differs between
// them.
#pragma once
#include <map>
#include <memory>

#include "coordinator.h"

namespace longship::collective {

class Agreement {
 public:
  Agreement(int size, Coordinator::Limits limits);

  void announce(int rank, const Announcement& announcement, Instant now);
  void leave(int rank);

  // All threads of that rank which ever wait are waiting for these, after it has done `answered` of the
  // decisions that concern it. Nothing awaited: it goes on.
  void waits(int rank, std::vector<Awaited> awaited, std::uint64_t answered);

  // The next thing for some ranks to do: to those of its set, or those named in an error. Without `room`
  // nothing that rank 0 has a part in, but errors.
  [[nodiscard]] std::optional<Decision> next(Instant now, bool room);
  [[nodiscard]] std::optional<Instant> deadline() const;
  [[nodiscard]] std::vector<std::string> warnings(Instant now);  // for people: see Coordinator
  [[nodiscard]] std::vector<int> concerned(const Decision& decision) const;

 private:
  struct Waiter {
    std::vector<Awaited> awaited;  // empty: not waiting
    std::uint64_t answered = 0;
  };

  std::optional<Decision> decide(int set, Instant now, bool room);
  void change_sets(const Announcement& change, Decision& decision);
  void refuse(int rank, const Announcement& announcement, const std::string& why);
  void look_for_standstill(Instant now);
  void give_up_oldest(const std::vector<char>& hopeless);
  [[nodiscard]] std::vector<char> stuck() const;
  [[nodiscard]] std::optional<std::vector<int>> missing(const Awaited& awaited) const;
  [[nodiscard]] std::string difference(const Awaited& awaited, const std::vector<char>& stuck) const;

  int size_;
  Coordinator::Limits limits_;
  std::map<int, Coordinator> sets_;
  int next_set_ = 1;
  std::vector<int> left_;
  std::deque<Decision> refusals_;    // of what belongs to no set that there is
  std::vector<Waiter> waiters_;      // by rank
  std::vector<std::uint64_t> told_;  // by rank: how many decisions to do something
  bool waits_changed_ = false;
  std::optional<Instant> standstill_since_;
  std::uint64_t sequence_ = 0;
};

}  // namespace longship::collective
