// SPDX-License-Identifier: Apache-2.0
// Rank 0's knowledge of who is ready for what, and its decisions: pure computation, no messages, no clock.
//
// Ranks announce tensors in whatever order their backward pass produces them. What all have announced is
// ready; ready all-reduces of one type and operation that wait while another runs are decided as one. Nothing
// waits for a timer: the first tensor goes at once, those that come meanwhile form the next batch.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "request.h"

namespace longship::collective {

class Coordinator {
 public:
  struct Limits {
    std::size_t fusion_bytes = std::size_t{64} << 20;  // a batch ends here
    Duration patience = std::chrono::minutes(5);       // from the first announcement of a tensor to the last
  };
  Coordinator(int size, Limits limits) : size_(size), limits_(limits) {}

  void announce(int rank, const Announcement& announcement, Instant now);

  // That rank will announce nothing more: what waits for it, and what will, cannot be done.
  void leave(int rank);

  // The next thing for all ranks to do, if there is one.
  [[nodiscard]] std::optional<Decision> next(Instant now);

  // When next() may have something to say although nothing was announced: the end of the patience.
  [[nodiscard]] std::optional<Instant> deadline() const;

 private:
  struct Waiting {
    Announcement first;
    Instant since;
    std::vector<char> announced;        // by rank
    std::vector<std::uint64_t> counts;  // by rank
    int missing = 0;
  };
  using Entry = std::map<std::string, Waiting>::iterator;

  // What was refused, and the ranks that still have to be told when they announce it.
  struct Refused {
    std::string why;
    std::vector<int> unheard;
  };

  bool refuse_again(int rank, const std::string& name);
  void fail(Entry entry, const std::string& why);
  void check_leavers(Entry entry);
  Decision batch();

  int size_;
  Limits limits_;
  std::map<std::string, Waiting> waiting_;
  std::deque<Waiting> ready_;
  std::map<std::string, Refused> refused_;
  std::deque<Decision> failures_;
  std::vector<int> left_;
};

// "1", "0 and 2", "0, 1 and 5", "0, 1, 2, 3 and 28 more": ranks in a sentence.
[[nodiscard]] std::string listed(const std::vector<int>& ranks);

}  // namespace longship::collective
