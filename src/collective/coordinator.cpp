// SPDX-License-Identifier: Apache-2.0
#include "coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ranks.h"

namespace longship::collective {

Coordinator::Coordinator(std::vector<int> members, Limits limits)
    : members_(std::move(members)), limits_(limits), joined_(members_.size()) {}

void Coordinator::announce(int rank, const Announcement& announcement, Instant now) {
  if (announcement.kind == Kind::join) return join(rank, now);
  if (refuse_with_group(rank, announcement) || refuse_again(rank, announcement.name)) return;
  count_in_group(rank, announcement);
  if (waiting_.empty()) oldest_ = now;
  const auto [entry, is_new] = waiting_.try_emplace(announcement.name);
  Waiting& waiting = entry->second;
  const std::size_t size = members_.size();
  if (is_new)
    waiting = {announcement, now, std::vector<char>(size), std::vector<std::uint64_t>(size),
               static_cast<int>(size) - joined_count_};
  if (is_new && !warn_at_ && limits_.warning > Duration::zero()) warn_at_ = warning_due(waiting);
  const std::size_t place = position(rank);
  waiting.announced[place] = 1;
  waiting.counts[place] = announcement.count;
  if (!is_joined(place)) --waiting.missing;

  if (!agree(waiting.first, announcement)) {
    auto others = ranks_with(waiting.announced, true);
    std::erase(others, rank);
    return fail(entry,
                fmt::format("ranks do not agree on \"{}\": {} by rank {}, {} by {}", announcement.name,
                            described(announcement), rank, described(waiting.first), the_ranks(others)));
  }
  settle(entry);
}

void Coordinator::join(int rank, Instant now) {
  const std::size_t place = position(rank);
  if (is_joined(place)) return;
  joined_[place] = 1;
  ++joined_count_;
  for (const auto& name : waiting_names()) {
    const auto entry = waiting_.find(name);
    if (entry == waiting_.end() || entry->second.announced[place] != 0) continue;
    --entry->second.missing;
    settle(entry);
  }
  if (joined_count_ < static_cast<int>(members_.size())) return;
  Announcement all;
  all.kind = Kind::join;
  all.name = join_name;
  ready_.push_back({all, now, std::vector<char>(members_.size(), 1), {static_cast<std::uint64_t>(rank)}, 0});
  std::fill(joined_.begin(), joined_.end(), char{0});
  joined_count_ = 0;
}

void Coordinator::leave(int rank) {
  left_.push_back(rank);
  for (const auto& name : waiting_names())
    if (const auto entry = waiting_.find(name); entry != waiting_.end()) check_leavers(entry);
}

std::optional<Decision> Coordinator::next(Instant now, bool room) {
  if (failures_.empty()) check_patience(now);
  if (!failures_.empty()) {
    Decision decision = std::move(failures_.front());
    failures_.pop_front();
    return decision;
  }
  if (ready_.empty() || !room) return {};
  return batch();
}

std::optional<Instant> Coordinator::deadline() const {
  if (waiting_.empty()) return {};
  const Instant end = oldest_ + std::chrono::duration_cast<Instant::duration>(limits_.patience);
  return warn_at_ ? std::min(end, *warn_at_) : end;
}

std::optional<std::vector<int>> Coordinator::missing(const std::string& name) const {
  if (name == join_name) {
    if (joined_count_ == 0) return {};
    return ranks_with(joined_, false);
  }
  const auto entry = waiting_.find(name);
  if (entry == waiting_.end()) return {};
  return missing(entry->second);
}

std::vector<int> Coordinator::announced(const std::string& name) const {
  const auto entry = waiting_.find(name);
  return entry == waiting_.end() ? members_ : ranks_with(entry->second.announced, true);
}

Instant Coordinator::since(const std::string& name) const {
  return waiting_.at(name).since;
}

void Coordinator::give_up(const std::string& name, const std::string& why) {
  if (const auto entry = waiting_.find(name); entry != waiting_.end()) fail(entry, why);
}

void Coordinator::give_up_all(const std::string& why) {
  for (const auto& name : waiting_names()) give_up(name, why);
}

// ---- What becomes of one ----

void Coordinator::settle(Entry entry) {
  const Announcement& first = entry->second.first;
  if (first.kind == Kind::broadcast && entry->second.missing == 0 &&
      entry->second.announced[position(first.root)] == 0)
    return fail(entry,
                fmt::format("broadcast of \"{}\" from rank {}, which has joined", first.name, first.root));
  if (entry->second.missing > 0) return check_leavers(entry);
  if (first.device && joined_count_ > 0)
    return fail(entry,
                fmt::format("\"{}\" is on GPUs, where a rank that has joined cannot take part", first.name));
  if (first.group.empty()) return make_ready(entry);
  auto& ready = groups_.at(first.group).ready;
  ready.push_back(first.name);
  if (ready.size() < first.group_size) return;
  const std::string group = first.group;
  for (const auto& name : std::exchange(ready, {})) make_ready(waiting_.find(name));
  groups_.erase(group);
}

void Coordinator::make_ready(Entry entry) {
  ready_.push_back(std::move(entry->second));
  waiting_.erase(entry);
}

// The ranks that announced it are told now, the others once they come.
void Coordinator::fail(Entry entry, const std::string& why) {
  if (const std::string group = entry->second.first.group; !group.empty()) return fail_group(group, why);
  failures_.push_back({{entry->first}, {}, why, ranks_with(entry->second.announced, true)});
  auto unheard = ranks_with(entry->second.announced, false);
  std::erase_if(unheard, [&](int rank) { return is_joined(position(rank)); });
  if (!unheard.empty()) refused_[entry->first] = {why, std::move(unheard)};
  waiting_.erase(entry);
}

// The members that have not come yet are refused as they do: refuse_with_group().
void Coordinator::fail_group(const std::string& name, const std::string& why) {
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second.first.group != name) return false;
    failures_.push_back({{entry.first}, {}, why, ranks_with(entry.second.announced, true)});
    return true;
  });
  const auto found = groups_.find(name);
  auto& refused = refused_groups_[name];
  refused.why = why;
  refused.unheard.resize(members_.size());
  for (std::size_t place = 0; place < members_.size(); ++place)
    if (!is_joined(place))
      refused.unheard[place] +=
          found->second.size - std::min(found->second.size, found->second.announced[place]);
  groups_.erase(found);
}

bool Coordinator::refuse_again(int rank, const std::string& name) {
  const auto found = refused_.find(name);
  if (found == refused_.end() || std::erase(found->second.unheard, rank) == 0) return false;
  failures_.push_back({{name}, {}, found->second.why, {rank}});
  if (found->second.unheard.empty()) refused_.erase(found);
  return true;
}

bool Coordinator::refuse_with_group(int rank, const Announcement& announcement) {
  const auto found = refused_groups_.find(announcement.group);
  if (found == refused_groups_.end()) return false;
  auto& [why, unheard] = found->second;
  if (unheard[position(rank)] == 0) return false;  // it knows, and tries again
  --unheard[position(rank)];
  failures_.push_back({{announcement.name}, {}, why, {rank}});
  if (std::all_of(unheard.begin(), unheard.end(), [](auto left) { return left == 0; }))
    refused_groups_.erase(found);
  return true;
}

void Coordinator::count_in_group(int rank, const Announcement& announcement) {
  if (announcement.group.empty()) return;
  auto& group = groups_[announcement.group];
  if (group.announced.empty()) {
    group.size = announcement.group_size;
    group.announced.resize(members_.size());
  }
  ++group.announced[position(rank)];
}

void Coordinator::check_leavers(Entry entry) {
  const auto gone = std::find_if(left_.begin(), left_.end(),
                                 [&](int rank) { return entry->second.announced[position(rank)] == 0; });
  if (gone != left_.end())
    fail(entry, fmt::format("\"{}\" needs all ranks, but rank {} has left", entry->first, *gone));
}

void Coordinator::check_patience(Instant now) {
  if (waiting_.empty() || now - oldest_ < limits_.patience) return;
  const auto oldest = std::min_element(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) {
    return a.second.since < b.second.since;
  });
  const Waiting& waiting = oldest->second;
  oldest_ = waiting.since;
  if (now - oldest_ < limits_.patience) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits_.patience).count();
  const std::string rest =
      waiting.missing == 0 ? fmt::format("the rest of its group \"{}\" ", waiting.first.group) : "";
  fail(oldest, fmt::format("\"{}\" was announced by {}, but for {} s {}not by {}", waiting.first.name,
                           the_ranks(ranks_with(waiting.announced, true)), seconds, rest,
                           the_ranks(missing(waiting))));
}

Instant Coordinator::warning_due(const Waiting& waiting) const {
  return waiting.since + std::chrono::duration_cast<Instant::duration>(limits_.warning);
}

// One sentence for all that wait for the same ranks: a step that stands still may have thousands of tensors.
std::vector<std::string> Coordinator::warnings(Instant now) {
  if (!warn_at_ || now < *warn_at_) return {};
  warn_at_.reset();
  struct Stall {
    const Waiting* oldest;
    int count = 0;
  };
  std::map<std::vector<int>, Stall> stalls;  // by the ranks that are waited for
  for (auto& [name, waiting] : waiting_) {
    if (waiting.warned) continue;
    const Instant due = warning_due(waiting);
    if (now < due) {
      warn_at_ = std::min(warn_at_.value_or(due), due);
      continue;
    }
    waiting.warned = true;
    Stall& stall = stalls.try_emplace(missing(waiting), Stall{&waiting}).first->second;
    ++stall.count;
    if (waiting.since < stall.oldest->since) stall.oldest = &waiting;
  }
  std::vector<std::string> sentences;
  for (const auto& [absent, stall] : stalls) {
    auto present = ranks_with(stall.oldest->announced, true);
    std::erase_if(present, [&](int rank) { return std::binary_search(absent.begin(), absent.end(), rank); });
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - stall.oldest->since).count();
    const std::string more = stall.count > 1 ? fmt::format(" and {} more have", stall.count - 1) : " has";
    sentences.push_back(fmt::format("\"{}\"{} waited {} s for {}, announced by {}", stall.oldest->first.name,
                                    more, seconds, the_ranks(absent),
                                    present.empty() ? "nobody in full" : the_ranks(present)));
  }
  return sentences;
}

// From the oldest ready one on, all-reduces like it, in the order in which they became ready.
Decision Coordinator::batch() {
  const Announcement like = ready_.front().first;
  Decision decision;
  if (like.kind == Kind::allgather || like.kind == Kind::join) decision.counts = ready_.front().counts;
  const bool fuses = like.kind == Kind::allreduce && like.op != Op::adasum;
  std::uint64_t bytes = 0, wire_bytes = 0;
  std::size_t message = 0;
  bool needs_details = false;
  while (!ready_.empty()) {
    const Waiting& candidate = ready_.front();
    const Announcement& what = candidate.first;
    const bool fits = fuses && what.kind == like.kind && what.type == like.type && what.wire == like.wire &&
                      what.device == like.device && what.op == like.op && what.prescale == like.prescale &&
                      what.postscale == like.postscale && bytes + what.bytes() <= limits_.fusion_bytes &&
                      message < longest_message / 4;
    if (!decision.names.empty() && !fits) break;
    bytes += what.bytes();
    wire_bytes += what.wire_bytes();
    message += what.name.size() + what.group.size() + sizeof(Announcement);
    decision.names.push_back(what.name);
    const bool all_here = std::all_of(candidate.announced.begin(), candidate.announced.end(),
                                      [](char announced) { return announced != 0; });
    needs_details = needs_details || what.kind >= Kind::add_set || !all_here;
    decision.details.push_back(std::move(ready_.front().first));
    ready_.pop_front();
  }
  if (fuses && !like.device) decision.bytes = wire_bytes;
  if (!needs_details) decision.details.clear();
  return decision;
}

// ---- Ranks ----

std::vector<int> Coordinator::missing(const Waiting& waiting) const {
  std::vector<int> ranks;
  for (std::size_t place = 0; place < members_.size(); ++place) {
    if (is_joined(place)) continue;
    const bool lacks = waiting.missing > 0
                           ? waiting.announced[place] == 0
                           : groups_.at(waiting.first.group).announced[place] < waiting.first.group_size;
    if (lacks) ranks.push_back(members_[place]);
  }
  return ranks;
}

std::size_t Coordinator::position(int rank) const {
  const auto found = std::lower_bound(members_.begin(), members_.end(), rank);
  return static_cast<std::size_t>(found - members_.begin());
}

std::vector<int> Coordinator::ranks_with(const std::vector<char>& announced, bool wanted) const {
  std::vector<int> ranks;
  for (std::size_t place = 0; place < announced.size(); ++place)
    if ((announced[place] != 0) == wanted) ranks.push_back(members_[place]);
  return ranks;
}

std::vector<std::string> Coordinator::waiting_names() const {
  std::vector<std::string> names;
  for (const auto& [name, waiting] : waiting_) names.push_back(name);
  return names;
}

}  // namespace longship::collective
