// SPDX-License-Identifier: Apache-2.0
#include "coordinator.h"

#include <fmt/core.h>

#include <algorithm>

namespace longship::collective {
namespace {

std::string described(const Announcement& one) {
  switch (one.kind) {
    case Kind::allreduce:
      return fmt::format("all-reduce ({}) of {} {}", name_of(one.op), one.count, name_of(one.type));
    case Kind::broadcast:
      return fmt::format("broadcast from rank {} of {} {}", one.root, one.count, name_of(one.type));
    case Kind::allgather:
      return fmt::format("all-gather of {}", name_of(one.type));
    case Kind::barrier:
      return "barrier";
  }
  return {};
}

bool agree(const Announcement& a, const Announcement& b) {
  if (a.kind != b.kind || a.type != b.type) return false;
  if (a.kind == Kind::allreduce && a.op != b.op) return false;
  if (a.kind == Kind::broadcast && a.root != b.root) return false;
  return a.kind == Kind::allgather || a.count == b.count;
}

std::vector<int> ranks_with(const std::vector<char>& announced, bool wanted) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < announced.size(); ++rank)
    if ((announced[rank] != 0) == wanted) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::string the_ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + listed(ranks);
}

}  // namespace

void Coordinator::announce(int rank, const Announcement& announcement, Instant now) {
  if (refuse_again(rank, announcement.name)) return;
  const auto [entry, is_new] = waiting_.try_emplace(announcement.name);
  Waiting& waiting = entry->second;
  const auto size = static_cast<std::size_t>(size_);
  if (is_new) waiting = {announcement, now, std::vector<char>(size), std::vector<std::uint64_t>(size), size_};
  waiting.announced[static_cast<std::size_t>(rank)] = 1;
  waiting.counts[static_cast<std::size_t>(rank)] = announcement.count;
  --waiting.missing;

  if (!agree(waiting.first, announcement)) {
    auto others = ranks_with(waiting.announced, true);
    std::erase(others, rank);
    fail(entry, fmt::format("ranks do not agree on \"{}\": {} by rank {}, {} by {}", announcement.name,
                            described(announcement), rank, described(waiting.first), the_ranks(others)));
    return;
  }
  if (waiting.missing == 0) {
    ready_.push_back(std::move(waiting));
    waiting_.erase(entry);
    return;
  }
  check_leavers(entry);
}

void Coordinator::leave(int rank) {
  left_.push_back(rank);
  for (auto entry = waiting_.begin(); entry != waiting_.end();) check_leavers(entry++);
}

std::optional<Decision> Coordinator::next(Instant now) {
  for (auto entry = waiting_.begin(); failures_.empty() && entry != waiting_.end(); ++entry) {
    const Waiting& waiting = entry->second;
    if (now - waiting.since < limits_.patience) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits_.patience).count();
    fail(entry, fmt::format("\"{}\" was announced by {}, but for {} s not by {}", waiting.first.name,
                            the_ranks(ranks_with(waiting.announced, true)), seconds,
                            the_ranks(ranks_with(waiting.announced, false))));
    break;
  }
  if (!failures_.empty()) {
    Decision decision = std::move(failures_.front());
    failures_.pop_front();
    return decision;
  }
  if (ready_.empty()) return {};
  return batch();
}

std::optional<Instant> Coordinator::deadline() const {
  std::optional<Instant> earliest;
  for (const auto& [name, waiting] : waiting_)
    if (!earliest || waiting.since < *earliest) earliest = waiting.since;
  if (earliest) *earliest += std::chrono::duration_cast<Instant::duration>(limits_.patience);
  return earliest;
}

// The ranks that announced it are told now, the others once they come.
void Coordinator::fail(Entry entry, const std::string& why) {
  failures_.push_back({{entry->first}, {}, why, ranks_with(entry->second.announced, true)});
  if (auto unheard = ranks_with(entry->second.announced, false); !unheard.empty())
    refused_[entry->first] = {why, std::move(unheard)};
  waiting_.erase(entry);
}

bool Coordinator::refuse_again(int rank, const std::string& name) {
  const auto found = refused_.find(name);
  if (found == refused_.end() || std::erase(found->second.unheard, rank) == 0) return false;
  failures_.push_back({{name}, {}, found->second.why, {rank}});
  if (found->second.unheard.empty()) refused_.erase(found);
  return true;
}

void Coordinator::check_leavers(Entry entry) {
  const auto gone = std::find_if(left_.begin(), left_.end(), [&](int rank) {
    return entry->second.announced[static_cast<std::size_t>(rank)] == 0;
  });
  if (gone != left_.end())
    fail(entry, fmt::format("\"{}\" needs all ranks, but rank {} has left", entry->first, *gone));
}

// From the oldest ready one on, all-reduces like it, in the order in which they became ready.
Decision Coordinator::batch() {
  const Announcement like = ready_.front().first;
  Decision decision;
  if (like.kind == Kind::allgather) decision.counts = ready_.front().counts;
  std::uint64_t bytes = 0;
  std::size_t message = 0;
  while (!ready_.empty()) {
    const Announcement& candidate = ready_.front().first;
    const bool fits = candidate.kind == Kind::allreduce && like.kind == Kind::allreduce &&
                      candidate.type == like.type && candidate.op == like.op &&
                      bytes + candidate.bytes() <= limits_.fusion_bytes && message < longest_message / 2;
    if (!decision.names.empty() && !fits) break;
    bytes += candidate.bytes();
    message += candidate.name.size() + sizeof(std::uint64_t);
    decision.names.push_back(candidate.name);
    ready_.pop_front();
  }
  return decision;
}

std::string listed(const std::vector<int>& ranks) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == shown && ranks.size() > shown + 1)
      return fmt::format("{} and {} more", text, ranks.size() - shown);
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace longship::collective
