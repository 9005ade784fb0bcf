// SPDX-License-Identifier: Apache-2.0
// Who of one process set is ready for what, and what they do next: pure computation, no messages, no clock.
//
// Ranks announce tensors in whatever order their backward pass produces them. What all have announced is
// ready; ready all-reduces of one type and operation that wait while another runs are decided as one. Nothing
// waits for a timer: the first tensor goes at once, those that come meanwhile form the next batch.
//
// The operations of a group become ready when the last of them would be, and fail when the first of them
// does. A rank that has joined counts as ready for everything, until all have joined.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "request.h"

namespace longship::collective {

// What ranks call the join that they all wait for.
inline constexpr std::string_view join_name = "longship.join";

class Coordinator {
 public:
  struct Limits {
    std::size_t fusion_bytes = std::size_t{64} << 20;  // a batch ends here
    Duration patience = std::chrono::minutes(5);       // from the first announcement of a tensor to the last
    Duration warning = std::chrono::minutes(1);        // after so much of it people are told; 0: never
    // Ranks that wait for each other do so for this long before it is called a standstill: others may come to
    // the same conclusion meanwhile.
    Duration standstill = std::chrono::milliseconds(150);
  };
  Coordinator(std::vector<int> members, Limits limits);  // ascending ranks of the world, which all below are

  void announce(int rank, const Announcement& announcement, Instant now);

  // That rank will announce nothing more: what waits for it, and what will, cannot be done.
  void leave(int rank);

  // The next thing for all of them to do, if there is one; without `room` only what they are to give up.
  [[nodiscard]] std::optional<Decision> next(Instant now, bool room = true);

  // When next() may have something to say although nothing was announced: not after the end of the patience.
  [[nodiscard]] std::optional<Instant> deadline() const;

  // What has begun to wait for too long since this was last asked: whose turn it is, and who has come.
  [[nodiscard]] std::vector<std::string> warnings(Instant now);

  // Whom an operation waits for; none if it was not announced or is decided.
  [[nodiscard]] std::optional<std::vector<int>> missing(const std::string& name) const;
  [[nodiscard]] std::vector<int> announced(const std::string& name) const;
  [[nodiscard]] Instant since(const std::string& name) const;  // of one that waits: its first announcement
  void give_up(const std::string& name, const std::string& why);
  void give_up_all(const std::string& why);

  [[nodiscard]] const std::vector<int>& members() const { return members_; }

 private:
  struct Waiting {
    Announcement first;
    Instant since;
    std::vector<char> announced;        // by position in members_
    std::vector<std::uint64_t> counts;  // likewise
    int missing = 0;
    bool warned = false;
  };
  using Entry = std::map<std::string, Waiting>::iterator;

  // What was refused, and the ranks that still have to be told when they announce it.
  struct Refused {
    std::string why;
    std::vector<int> unheard;
  };
  struct Group {
    std::uint32_t size = 0;
    std::vector<std::uint32_t> announced;  // how many of it, by position
    std::vector<std::string> ready;        // but for the rest of the group
  };
  // A group that failed, and how many of it each rank still has to be told about.
  struct RefusedGroup {
    std::string why;
    std::vector<std::uint32_t> unheard;  // by position
  };

  [[nodiscard]] std::size_t position(int rank) const;
  [[nodiscard]] std::vector<int> ranks_with(const std::vector<char>& announced, bool wanted) const;
  [[nodiscard]] std::vector<int> missing(const Waiting& waiting) const;
  [[nodiscard]] bool is_joined(std::size_t place) const { return joined_[place] != 0; }
  [[nodiscard]] std::vector<std::string> waiting_names() const;
  void join(int rank, Instant now);
  void settle(Entry entry);
  void make_ready(Entry entry);
  void fail(Entry entry, const std::string& why);
  void fail_group(const std::string& name, const std::string& why);
  bool refuse_again(int rank, const std::string& name);
  bool refuse_with_group(int rank, const Announcement& announcement);
  void count_in_group(int rank, const Announcement& announcement);
  void check_leavers(Entry entry);
  void check_patience(Instant now);
  [[nodiscard]] Instant warning_due(const Waiting& waiting) const;
  Decision batch();

  std::vector<int> members_;
  Limits limits_;
  std::map<std::string, Waiting> waiting_;
  std::deque<Waiting> ready_;
  std::map<std::string, Refused> refused_;
  std::map<std::string, Group> groups_;
  std::map<std::string, RefusedGroup> refused_groups_;
  std::deque<Decision> failures_;
  std::vector<int> left_;
  std::vector<char> joined_;  // by position
  int joined_count_ = 0;
  std::optional<Instant> warn_at_;  // nothing is to be told before
  Instant oldest_{};  // nothing in waiting_ is older; looked up again only when this would be too old
};

}  // namespace longship::collective
