// SPDX-License-Identifier: Apache-2.0
#include "shortcut.h"

#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "copy.h"
#include "direct.h"
#include "reduce.h"
#include "relax.h"
#include "staged.h"

namespace longship::collective {
namespace {

// What is copied into shared memory before the meeting and reduced by each rank for itself after it. Ranks
// that share cores would have to be woken once more to meet again: that costs more than to reduce a little
// more.
constexpr std::size_t small_up_to = 4 * 1024, small_up_to_if_crowded = Lane::small_bytes;

// Ranks that keep missing each other here lose the patience each time; then they only try now and then.
constexpr unsigned failures_until_rare = 16;
constexpr std::uint64_t calls_between_tries = 64;

// Who waits longer than this lets others run, should there be any: that costs less than half a microsecond.
constexpr unsigned spins_before_yield = 100;
constexpr unsigned turns_before_sleep = 500;
constexpr unsigned rounds_between_clocks = 32;

// The word: how many have come in the low bits, their purpose above.
constexpr std::uint64_t count_mask = 0xffff;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// Ranks that would go different ways do not meet: they may differ in how many cores they see.
std::uint64_t purpose_of(const Announcement& what, bool is_small, std::uint64_t call) {
  std::uint64_t hash = mixed(is_small ? 1 : 2, call);
  hash =
      mixed(hash, static_cast<std::uint64_t>(what.wire) << 24 | static_cast<std::uint64_t>(what.kind) << 16 |
                      static_cast<std::uint64_t>(what.type) << 8 | static_cast<std::uint64_t>(what.op));
  hash = mixed(hash, what.count);
  for (const char letter : what.name) hash = mixed(hash, static_cast<unsigned char>(letter));
  return hash & ~count_mask;
}

}  // namespace

Shortcut::Shortcut(Segment& segment, bool crowded, Duration patience)
    : lane_(segment.lane(Lane::shortcut)), crowded_(crowded), patience_(patience) {}

// Some times what the engine's way would take.
Duration Shortcut::usual_patience(bool crowded) {
  return std::chrono::microseconds(crowded ? 300 : 50);
}

Shortcut::Outcome Shortcut::run(const Announcement& what, std::byte* data) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || lane_.ranks > most_ranks || lane_.segment.lost() >= 0) return Outcome::not_done;
  const std::uint64_t call = calls_++;
  if (failures_ >= failures_until_rare && call % calls_between_tries != 0) return Outcome::not_done;
  const bool is_small = what.bytes() <= (crowded_ ? small_up_to_if_crowded : small_up_to);
  const std::uint64_t purpose = purpose_of(what, is_small, call);
  if (is_small) return run_small(what, data, purpose);
  if (lane_.ranks <= LaneHead::most_who_tell && is_shared_evenly(what.bytes(), lane_.ranks))
    return run_even(what, data, purpose);
  return run_large(what, data, purpose);
}

Shortcut::Outcome Shortcut::run_small(const Announcement& what, std::byte* data, std::uint64_t purpose) {
  if (what.count > 0) copy_bytes(lane_.small_slot(lane_.rank, meetings_), data, what.bytes());
  if (!meet(purpose)) return Outcome::not_done;
  return reduce_small(what, data) ? Outcome::done_with_nan : Outcome::done;
}

// What InPlace does, without asking or keeping anything: the time of a middling tensor is in what lies
// between the two meetings.
Shortcut::Outcome Shortcut::run_even(const Announcement& what, std::byte* data, std::uint64_t purpose) {
  const LaneHead::Meeting& here = next_meeting();
  next_meeting().where[lane_.rank] = place_of(data, what.bytes());
  if (!meet(purpose)) return Outcome::not_done;
  const auto in_arena = [](std::uint64_t place) { return (place & Post::in_arena) != 0; };
  if (!std::all_of(here.where, here.where + lane_.ranks, in_arena)) return run_staged(what, data);
  const std::uint64_t number = lane_.own().finished.load(std::memory_order_relaxed) + 1;
  if (reduce_own_part(what, data, here.where)) lane_.own().nan_in.store(number, std::memory_order_relaxed);
  lane_.publish(&LaneRank::finished, number);
  wait_until([&] { return lane_.all_have(&LaneRank::finished, all_finished_, number); });
  return lane_.anybody_found_nan(number) ? Outcome::done_with_nan : Outcome::done;
}

// By copies, as all ranks do: the tensor of one of them is private.
Shortcut::Outcome Shortcut::run_staged(const Announcement& what, std::byte* data) {
  Staged staged(lane_, {{what.type, data, static_cast<std::size_t>(what.count)}}, what.op);
  wait_until([&] { return staged.advance(); });
  return staged.found_nan() ? Outcome::done_with_nan : Outcome::done;
}

Shortcut::Outcome Shortcut::run_large(const Announcement& what, std::byte* data, std::uint64_t purpose) {
  space_.pieces.assign(1, {what.type, data, static_cast<std::size_t>(what.count)});
  Direct direct(lane_, what.op, space_);
  direct.post();
  const bool all_tell = lane_.ranks <= LaneHead::most_who_tell && direct.place();
  if (all_tell) next_meeting().where[lane_.rank] = *direct.place();
  space_.told = all_tell ? next_meeting().where : nullptr;
  if (!meet(purpose)) return Outcome::not_done;
  wait_until([&] { return direct.advance(); });
  return direct.found_nan() ? Outcome::done_with_nan : Outcome::done;
}

// ---- The meeting ----

bool Shortcut::meet(std::uint64_t purpose) {
  Word& word = next_meeting().word;
  std::uint64_t seen = 0;
  if (!join(word, purpose, seen) ||
      (seen != static_cast<std::uint64_t>(lane_.ranks) && !wait_for_all(word))) {
    lane_.own().given_up.store(purpose, std::memory_order_relaxed);
    ++failures_;
    return false;
  }
  // The last to come clears the word of the meeting after the next: all have left the one it was used for.
  if (seen == static_cast<std::uint64_t>(lane_.ranks))
    lane_.head.meeting[(meetings_ + 2) % LaneHead::meetings].word.store(0, std::memory_order_relaxed);
  ++meetings_;
  failures_ = 0;
  return true;
}

LaneHead::Meeting& Shortcut::next_meeting() const {
  return lane_.head.meeting[meetings_ % LaneHead::meetings];
}

// Counts this rank in; `seen` is how many there are then. False if the others are here for something else.
bool Shortcut::join(Word& word, std::uint64_t purpose, std::uint64_t& seen) {
  std::uint64_t now = word.load(std::memory_order_relaxed);
  do {
    if (now == 0 && somebody_gave_up(purpose)) return false;
    if (now != 0 && (now & ~count_mask) != purpose) return false;
    seen = (now & count_mask) + 1;
  } while (!word.compare_exchange_weak(now, purpose | seen, std::memory_order_acq_rel));
  return true;
}

bool Shortcut::somebody_gave_up(std::uint64_t purpose) const {
  for (const LaneRank& other : lane_.all)
    if (other.given_up.load(std::memory_order_relaxed) == purpose) return true;
  return false;
}

bool Shortcut::wait_for_all(Word& word) {
  using Clock = std::chrono::steady_clock;
  const auto all = static_cast<std::uint64_t>(lane_.ranks);
  Clock::time_point until;
  for (unsigned round = 1;; ++round) {
    if ((word.load(std::memory_order_acquire) & count_mask) == all) return true;
    take_turn(round);
    if (round % rounds_between_clocks != 0) continue;
    const auto now = Clock::now();  // not at once: to ask takes as long as to meet
    if (round == rounds_between_clocks) until = now + patience_;
    if (now >= until) return !take_away(word);
  }
}

void Shortcut::take_turn(unsigned round) const {
  if (crowded_ || round > spins_before_yield)
    ::sched_yield();
  else
    relax();
}

// False if it is too late: all have come.
bool Shortcut::take_away(Word& word) {
  const auto all = static_cast<std::uint64_t>(lane_.ranks);
  std::uint64_t now = word.load(std::memory_order_acquire);
  do
    if ((now & count_mask) == all) return false;
  while (!word.compare_exchange_weak(now, (now & count_mask) == 1 ? 0 : now - 1, std::memory_order_acq_rel));
  return true;
}

// ---- The work ----

// A slot is written again four meetings later, when all have long been here.
bool Shortcut::reduce_small(const Announcement& what, std::byte* data) {
  if (what.count == 0) return false;
  const std::byte* inputs[most_ranks];
  for (int rank = 0; rank < lane_.ranks; ++rank) inputs[rank] = lane_.small_slot(rank, meetings_ - 1);
  return combine_all(what.type, what.op, {inputs, static_cast<std::size_t>(lane_.ranks)}, {&data, 1},
                     static_cast<std::size_t>(what.count));
}

bool Shortcut::reduce_own_part(const Announcement& what, std::byte* data, const std::uint64_t* places) {
  const auto count = static_cast<std::size_t>(what.count), width = size_of(what.type);
  const Range part = even_part(count, width, lane_.ranks, lane_.rank);
  std::byte* outputs[LaneHead::most_who_tell];
  const std::byte* inputs[LaneHead::most_who_tell];
  for (int rank = 0; rank < lane_.ranks; ++rank) {
    const auto of_node = lane_.node_ranks[static_cast<std::size_t>(rank)];
    std::byte* const tensor =
        rank == lane_.rank
            ? data
            : lane_.segment.memory()->of_rank(of_node, places[rank] & ~Post::in_arena, count * width);
    inputs[rank] = outputs[rank] = tensor + part.begin * width;
  }
  const auto ranks = static_cast<std::size_t>(lane_.ranks);
  return combine_all(what.type, what.op, {inputs, ranks}, {outputs, ranks}, part.size());
}

// As in a Post; 0 if it is private.
std::uint64_t Shortcut::place_of(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const Memory& memory = *lane_.segment.memory();
  Known& known = known_[reinterpret_cast<std::uintptr_t>(data) / page % known_.size()];
  const std::uint64_t changes = memory.changes();
  if (known.data != data || known.bytes != bytes || known.changes != changes) {
    const auto offset = memory.offset_of(data, bytes);
    known = {data, bytes, changes, offset ? *offset | Post::in_arena : 0};
  }
  return known.place;
}

template <class Condition>
void Shortcut::wait_until(Condition holds) {
  for (unsigned round = 0; !holds(); ++round) {
    if (round < turns_before_sleep) {
      take_turn(round);
      continue;
    }
    if (lane_.segment.lost() >= 0)
      throw Error("rank {} was lost: its process has ended", lane_.segment.lost());
    lane_.announce_sleep();
    if (holds()) return lane_.stay_awake();
    lane_.sleep();
  }
}

}  // namespace longship::collective
