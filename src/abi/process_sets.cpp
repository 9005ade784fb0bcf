// SPDX-License-Identifier: Apache-2.0
// Process sets: the engine agrees on their numbers, and here is remembered which ranks they have, for the
// calls that only ask.
#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "call.h"

namespace {

using namespace longship;
using namespace longship::abi;
using namespace longship::collective;

std::mutex sets_mutex;
std::map<int, std::vector<int>> sets;

// One change at a time: ranks match them by their order.
std::mutex changes_mutex;

Result changed(Announcement change) {
  change.name = "longship.process_set";
  Result result = session()->driver().run({std::move(change)});
  if (!result.error.empty()) throw Error("{}", result.error);
  return result;
}

int add(std::vector<int> ranks) {
  const std::lock_guard one_at_a_time(changes_mutex);
  std::sort(ranks.begin(), ranks.end());
  Announcement change;
  change.kind = Kind::add_set;
  change.members = ranks;
  const int number = static_cast<int>(changed(std::move(change)).counts.front());
  const std::lock_guard lock(sets_mutex);
  sets[number] = std::move(ranks);
  return number;
}

void remove(int set) {
  const std::lock_guard one_at_a_time(changes_mutex);
  if (set == 0) throw Error(Failure::usage, "the world cannot be removed");
  static_cast<void>(ranks_of_set(set));
  Announcement change;
  change.kind = Kind::remove_set;
  change.root = set;
  static_cast<void>(changed(std::move(change)));
  const std::lock_guard lock(sets_mutex);
  sets.erase(set);
}

}  // namespace

std::vector<int> abi::ranks_of_set(int set) {
  if (set == 0) {
    std::vector<int> all(static_cast<std::size_t>(session()->size()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::lock_guard lock(sets_mutex);
  const auto found = sets.find(set);
  if (found == sets.end()) throw Error(Failure::usage, "there is no process set {}", set);
  return found->second;
}

void abi::forget_process_sets() {
  const std::lock_guard lock(sets_mutex);
  sets.clear();
}

int longship_process_set_add(const int* ranks, size_t count) {
  return guarded([&] {
    if (ranks == nullptr) throw Error(Failure::usage, "a process set needs a rank");
    return add({ranks, ranks + count});
  });
}

int longship_process_set_remove(int set) {
  return guarded([&]() -> int {
    remove(set);
    return LONGSHIP_OK;
  });
}

int longship_process_set_size(int set) {
  return guarded([&] { return static_cast<int>(ranks_of_set(set).size()); });
}

int longship_process_set_rank(int set) {
  return guarded([&] {
    const auto ranks = ranks_of_set(set);
    const auto found = std::find(ranks.begin(), ranks.end(), session()->rank());
    if (found == ranks.end())
      throw Error(Failure::usage, "rank {} does not belong to process set {}", session()->rank(), set);
    return static_cast<int>(found - ranks.begin());
  });
}

int longship_process_set_ranks(int set, int* ranks) {
  return guarded([&]() -> int {
    const auto all = ranks_of_set(set);
    std::copy(all.begin(), all.end(), ranks);
    return LONGSHIP_OK;
  });
}
