// SPDX-License-Identifier: Apache-2.0
#include "listeners.h"

#include <utility>

#include "describe.h"
#include "formats/document.h"

namespace longship::hub {
namespace {

constexpr std::size_t most_told = 200;  // jobs at once, before listeners are told to ask again instead

}  // namespace

std::uint64_t Listeners::add(Hub::Listener listener) {
  const std::lock_guard lock(mutex_);
  listeners_.emplace(++last_, std::move(listener));
  return last_;
}

void Listeners::remove(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(id);
}

std::vector<JobIndex> Listeners::changed_in(State& state, bool tick) const {
  std::vector<JobIndex> changed;
  {
    const std::lock_guard lock(mutex_);
    if (listeners_.empty()) {
      state.stirred.clear();
      return changed;
    }
  }
  const auto& changes = state.changes();
  for (const auto& one : changes.submissions)
    for (std::uint32_t n = 0; n < one.count && changed.size() <= most_told; ++n)
      changed.push_back(one.first + n);
  for (const auto& [index, before] : changes.jobs) {
    if (changed.size() > most_told) break;
    if (index < changes.job_count) changed.push_back(index);
  }
  if (tick) {
    changed.insert(changed.end(), state.stirred.begin(), state.stirred.end());
    state.stirred.clear();
  }
  return changed;
}

void Listeners::tell(State& state, const std::vector<JobIndex>& changed, bool tick, Moment now) const {
  const std::lock_guard lock(mutex_);
  if (listeners_.empty()) return;
  const auto tell_all = [&](std::string_view kind, const std::string& json) {
    for (const auto& [id, listener] : listeners_) listener(kind, json);
  };
  Describer describer(state, now);
  if (changed.size() > most_told)
    tell_all("reset", "{}");
  else
    for (const auto index : changed) tell_all("job", formats::dump_json(describer.job(index)));
  if (!tick) return;
  for (auto& site : state.sites())
    if (std::exchange(site.stirred, false)) tell_all("site", formats::dump_json(describer.site(site)));
}

}  // namespace longship::hub
