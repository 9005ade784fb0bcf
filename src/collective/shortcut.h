// SPDX-License-Identifier: Apache-2.0
// The short way for ranks of one node that all come to the same all-reduce or barrier and wait for it: they
// meet at a word in shared memory instead of asking rank 0, and reduce at once. It takes a microsecond where
// the engine's agreement takes ten.
//
// The word holds what the first one came for and how many have come for the same. Whoever makes the number
// complete commits all: from then on the operation is done here, and nowhere else. Until then each may take
// itself away again, which it does when the others do not come soon, or come for something else; all of them
// then go the engine's way, which knows what to say if they really differ. One word decides, so either all
// are in or none.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "request.h"
#include "segment.h"
#include "workspace.h"

namespace longship::collective {

class Shortcut {
 public:
  static constexpr int most_ranks = 256;  // beyond, one word is too busy

  // All ranks share the segment. `crowded`: there are more of them than cores. `patience`: how long to wait
  // for the others before the engine's way is taken.
  Shortcut(Segment& segment, bool crowded, Duration patience);
  [[nodiscard]] static Duration usual_patience(bool crowded);

  enum class Outcome { not_done, done, done_with_nan };
  // Not done: nothing has happened, ask the engine. Throws Error if a rank is lost on the way.
  [[nodiscard]] Outcome run(const Announcement& what, std::byte* data);

 private:
  using Word = std::atomic<std::uint64_t>;
  [[nodiscard]] bool meet(std::uint64_t purpose);
  [[nodiscard]] LaneHead::Meeting& next_meeting() const;
  [[nodiscard]] bool join(Word& word, std::uint64_t purpose, std::uint64_t& seen);
  [[nodiscard]] bool take_away(Word& word);
  [[nodiscard]] bool somebody_gave_up(std::uint64_t purpose) const;
  [[nodiscard]] bool wait_for_all(Word& word);
  void take_turn(unsigned round) const;
  [[nodiscard]] Outcome run_small(const Announcement& what, std::byte* data, std::uint64_t purpose);
  [[nodiscard]] Outcome run_even(const Announcement& what, std::byte* data, std::uint64_t purpose);
  [[nodiscard]] Outcome run_large(const Announcement& what, std::byte* data, std::uint64_t purpose);
  [[nodiscard]] Outcome run_staged(const Announcement& what, std::byte* data);
  [[nodiscard]] bool reduce_small(const Announcement& what, std::byte* data);
  [[nodiscard]] bool reduce_own_part(const Announcement& what, std::byte* data, const std::uint64_t* places);
  [[nodiscard]] std::uint64_t place_of(const std::byte* data, std::size_t bytes);
  template <class Condition>
  void wait_until(Condition holds);

  Lane lane_;
  bool crowded_;
  Duration patience_;
  std::mutex mutex_;            // one caller at a time; a second one goes the engine's way
  std::uint64_t calls_ = 0;     // part of the purpose: two calls of one name are not the same
  std::uint64_t meetings_ = 0;  // that took place: equal on all ranks
  unsigned failures_ = 0;       // since the last one that did
  std::uint64_t all_finished_ = 0;
  Workspace space_;
  // Tensors that were here before: to look one up takes a fifth of the time of 16 KiB.
  struct Known {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    std::uint64_t changes = 0;  // of the memory, when it was looked up
    std::uint64_t place = 0;
  };
  std::array<Known, 16> known_;
};

}  // namespace longship::collective
