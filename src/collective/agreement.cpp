// SPDX-License-Identifier: Apache-2.0
#include "agreement.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "ranks.h"
#include "standstill.h"

namespace longship::collective {
namespace {

bool holds(const std::vector<int>& ranks, int rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

std::vector<int> all_below(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Agreement::Agreement(int size, Coordinator::Limits limits)
    : size_(size),
      limits_(limits),
      waiters_(static_cast<std::size_t>(size)),
      told_(static_cast<std::size_t>(size)) {
  sets_.try_emplace(0, all_below(size), limits);
}

void Agreement::announce(int rank, const Announcement& announcement, Instant now) {
  waiters_[static_cast<std::size_t>(rank)] = {};  // it does not stand still
  const auto found = sets_.find(announcement.set);
  if (found == sets_.end())
    return refuse(rank, announcement, fmt::format("there is no process set {} any more", announcement.set));
  if (!holds(found->second.members(), rank))
    return refuse(rank, announcement,
                  fmt::format("rank {} does not belong to process set {}", rank, announcement.set));
  found->second.announce(rank, announcement, now);
}

void Agreement::leave(int rank) {
  left_.push_back(rank);
  for (auto& [number, set] : sets_)
    if (holds(set.members(), rank)) set.leave(rank);
}

void Agreement::waits(int rank, std::vector<Awaited> awaited, std::uint64_t answered) {
  waiters_[static_cast<std::size_t>(rank)] = {std::move(awaited), answered};
  waits_changed_ = true;
}

std::optional<Decision> Agreement::next(Instant now, bool room) {
  look_for_standstill(now);
  if (!refusals_.empty()) {
    Decision decision = std::move(refusals_.front());
    refusals_.pop_front();
    return decision;
  }
  // The world last: when it is to remove a set, what that set was ready for is decided.
  for (auto set = sets_.rbegin(); set != sets_.rend(); ++set)
    if (auto decision = decide(set->first, now, room || !holds(set->second.members(), 0))) return decision;
  return {};
}

std::optional<Decision> Agreement::decide(int set, Instant now, bool room) {
  auto decision = sets_.at(set).next(now, room);
  if (!decision) return {};
  decision->set = set;
  if (!decision->error.empty()) return decision;
  decision->sequence = sequence_++;
  for (const int rank : sets_.at(set).members()) ++told_[static_cast<std::size_t>(rank)];
  if (!decision->details.empty() && decision->details.front().kind >= Kind::add_set) {
    const Announcement change = decision->details.front();
    change_sets(change, *decision);
  }
  return decision;
}

// The number of a new set goes to all ranks in the decision that makes it.
void Agreement::change_sets(const Announcement& change, Decision& decision) {
  if (change.kind == Kind::add_set) {
    decision.counts = {static_cast<std::uint64_t>(next_set_)};
    auto& made = sets_.try_emplace(next_set_++, change.members, limits_).first->second;
    for (const int rank : left_)
      if (holds(made.members(), rank)) made.leave(rank);
    return;
  }
  const auto found = sets_.find(change.root);
  if (found == sets_.end()) return;
  found->second.give_up_all(fmt::format("process set {} was removed", change.root));
  while (auto refusal = found->second.next({}, false)) {
    refusal->set = change.root;
    refusals_.push_back(std::move(*refusal));
  }
  sets_.erase(found);
}

void Agreement::refuse(int rank, const Announcement& announcement, const std::string& why) {
  refusals_.push_back({{announcement.name}, {}, why, {rank}, announcement.set});
}

std::optional<Instant> Agreement::deadline() const {
  std::optional<Instant> earliest;
  for (const auto& [number, set] : sets_)
    if (const auto one = set.deadline(); one && (!earliest || *one < *earliest)) earliest = one;
  if (standstill_since_) {
    const Instant end =
        *standstill_since_ + std::chrono::duration_cast<Instant::duration>(limits_.standstill);
    if (!earliest || end < *earliest) earliest = end;
  }
  return earliest;
}

std::vector<std::string> Agreement::warnings(Instant now) {
  std::vector<std::string> all;
  for (auto& [number, set] : sets_)
    for (auto& sentence : set.warnings(now))
      all.push_back(number == 0 ? std::move(sentence) : fmt::format("process set {}: {}", number, sentence));
  return all;
}

std::vector<int> Agreement::concerned(const Decision& decision) const {
  if (!decision.error.empty() && !decision.names.empty()) return {decision.to.begin(), decision.to.end()};
  const auto found = sets_.find(decision.set);
  return found == sets_.end() ? all_below(size_) : found->second.members();
}

// ---- Standstill ----

// None: it is decided, or refused, and the answer on its way.
std::optional<std::vector<int>> Agreement::missing(const Awaited& awaited) const {
  const auto found = sets_.find(awaited.set);
  if (found == sets_.end()) return {};
  return found->second.missing(awaited.name);
}

std::vector<char> Agreement::stuck() const {
  std::vector<RankNeeds> ranks(waiters_.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Waiter& waiter = waiters_[rank];
    ranks[rank].waits = !waiter.awaited.empty() && waiter.answered == told_[rank];
    for (const auto& awaited : waiter.awaited)
      ranks[rank].needs.push_back({missing(awaited).value_or(std::vector<int>{})});
  }
  return stuck_ranks(ranks);
}

void Agreement::look_for_standstill(Instant now) {
  const bool is_due = standstill_since_ && now - *standstill_since_ >= limits_.standstill;
  if (!std::exchange(waits_changed_, false) && !is_due) return;
  const auto hopeless = stuck();
  if (std::find(hopeless.begin(), hopeless.end(), 1) == hopeless.end()) return standstill_since_.reset();
  if (!standstill_since_) standstill_since_ = now;
  if (!is_due) return;
  standstill_since_.reset();
  give_up_oldest(hopeless);
}

// Only what is about as old as the oldest: ranks that are told so go on, and may come to what the others have
// got to since.
void Agreement::give_up_oldest(const std::vector<char>& hopeless) {
  struct Why {
    Instant since;
    std::string text;
  };
  std::map<Awaited, Why> reasons;
  Instant oldest = Instant::max();
  for (std::size_t rank = 0; rank < hopeless.size(); ++rank) {
    if (hopeless[rank] == 0) continue;
    for (const auto& awaited : waiters_[rank].awaited) {
      const Instant since = sets_.at(awaited.set).since(awaited.name);
      reasons.try_emplace(awaited, Why{since, difference(awaited, hopeless)});
      oldest = std::min(oldest, since);
    }
  }
  for (const auto& [awaited, why] : reasons) {
    if (why.since - oldest <= limits_.standstill)
      sets_.at(awaited.set).give_up(awaited.name, why.text);
    else
      waits_changed_ = true;  // to be looked at again
  }
}

// "a" was announced by ranks 0 and 1, but not by rank 2, which waits for "b"
std::string Agreement::difference(const Awaited& awaited, const std::vector<char>& stuck) const {
  const auto miss = *missing(awaited);
  const int absent = *std::find_if(miss.begin(), miss.end(),
                                   [&](int rank) { return stuck[static_cast<std::size_t>(rank)] != 0; });
  const auto& other = waiters_[static_cast<std::size_t>(absent)].awaited.front();
  const std::string which = miss.size() == 1 ? "which" : fmt::format("of which rank {}", absent);
  const std::string whose = other.set == awaited.set ? ""
                            : other.set == 0         ? " of all ranks"
                                                     : fmt::format(" of process set {}", other.set);
  return fmt::format("\"{}\" was announced by {}, but not by {}, {} waits for \"{}\"{}", awaited.name,
                     the_ranks(sets_.at(awaited.set).announced(awaited.name)), the_ranks(miss), which,
                     other.name, whose);
}

}  // namespace longship::collective
