// SPDX-License-Identifier: Apache-2.0
// Which pilot gets which attempt, and when a new pilot is made.
//
// A pilot that waits in the batch system has one attempt, so that it has something to do even if no agent is
// there when it starts. A running one gets the next when it is done; where attempts are known to be short, as
// many ahead as keep it busy until its log has been read and written again.
#include <algorithm>

#include "engine.h"

namespace longship::agent {

using message::AttemptId;

void Engine::give() {
  for (auto& [kind, ready] : ready_) {
    if (!ready.empty()) give_to_pilots(kind, ready);
    if (!ready.empty()) make_pilots(kind, ready);
  }
  std::erase_if(ready_, [](const auto& kind) { return kind.second.empty(); });
}

bool Engine::takes_work(const Pilot& pilot) const {
  if (pilot.stage != Pilot::Stage::submitted || pilot.leaving || pilot.abandoned || pilot.cancelled ||
      pilot.left || pilot.ended || pilot.unknown)
    return false;
  return pilot.began || pilot.holds.empty();
}

void Engine::give_to_pilots(const Class& kind, Ready& ready) {
  std::vector<std::pair<const std::string, Pilot>*> able;
  const auto job = attempts_.at(ready.begin()->second).assignment.attempt.job;
  const auto name_of_job = job.substr(0, job.rfind('-'));
  for (auto& entry : pilots_)
    if (entry.second.shape == kind.first && takes_work(entry.second) &&
        room(entry.second, kind, name_of_job) > 0)
      able.push_back(&entry);
  std::stable_sort(able.begin(), able.end(), [](const auto* a, const auto* b) {
    return a->second.holds.size() < b->second.holds.size();
  });
  for (std::size_t i = 0; i < able.size() && !ready.empty(); ++i) {
    auto& [name, pilot] = *able[i];
    const std::size_t share = (ready.size() + able.size() - i - 1) / (able.size() - i);
    for (auto left = std::min(share, room(pilot, kind, name_of_job)); left > 0; --left)
      hand(ready.extract(ready.begin()).mapped(), name, pilot);
  }
}

// How many more of these it may have.
std::size_t Engine::room(const Pilot& pilot, const Class& kind, const std::string& job) const {
  if (!pilot.began)
    return pilot.holds.empty() && (pilot.walltime.count() == 0 || kind.second <= pilot.walltime) ? 1 : 0;
  if (pilot.until) {
    // Who says nothing about time gets at least half of what a new pilot would offer.
    const Duration needed = kind.second.count() > 0 ? Duration(kind.second) : Duration(pilot.walltime) / 2;
    if (now_ + needed > *pilot.until) return 0;
  }
  std::size_t allowed = 1;
  if (const auto known = took_.find(job); known != took_.end())
    allowed = std::clamp<std::size_t>(static_cast<std::size_t>(options_.rules.ahead / known->second), 1,
                                      options_.rules.most_ahead);
  return allowed > pilot.holds.size() ? allowed - pilot.holds.size() : 0;
}

void Engine::hand(const AttemptId& id, const std::string& name, Pilot& pilot) {
  auto& attempt = attempts_.at(id);
  attempt.ready = 0;
  attempt.pilot = name;
  pilot.holds.insert(id);
  tell(name, message::Take{attempt.assignment});
  if (pilot.stage == Pilot::Stage::submitted) say_queued(id, attempt);
}

bool Engine::waits(const Pilot& pilot) const {
  return !pilot.began && !pilot.left && !pilot.ended && !pilot.abandoned;
}

bool Engine::others_wait(const std::string& queue) const {
  for (const auto& [kind, ready] : ready_)
    if (kind.first.queue == queue && !ready.empty()) return true;
  return std::any_of(pilots_.begin(), pilots_.end(), [&](const auto& entry) {
    return entry.second.shape.queue == queue && waits(entry.second) && !entry.second.holds.empty();
  });
}

// The pilots that are there will be through with it sooner than a new one starts.
bool Engine::enough(const Class& kind, const Ready& ready) const {
  const auto& job = ready.begin()->second.job;
  const auto known = took_.find(job.substr(0, job.rfind('-')));
  if (known == took_.end()) return false;
  const auto at_work = std::count_if(pilots_.begin(), pilots_.end(), [&](const auto& entry) {
    const auto& pilot = entry.second;
    return pilot.shape == kind.first && !pilot.leaving && !pilot.abandoned && !pilot.left && !pilot.ended &&
           !pilot.unknown && (!pilot.until || *pilot.until > now_ + kind.second);
  });
  return static_cast<std::int64_t>(ready.size()) * known->second < options_.rules.ahead * at_work;
}

void Engine::make_pilots(const Class& kind, Ready& ready) {
  const auto& queue = kind.first.queue;
  const auto limits = options_.rules.queues.find(queue);
  const int most = limits == options_.rules.queues.end() ? 1 : std::max(1, limits->second.max_queued);
  if (const auto trouble = trouble_.find(queue); trouble != trouble_.end() && trouble->second.until > now_)
    return;
  auto waiting = std::count_if(pilots_.begin(), pilots_.end(), [&](const auto& entry) {
    return entry.second.shape.queue == queue && waits(entry.second);
  });
  while (!ready.empty() && waiting < most && !enough(kind, ready)) {
    const Made made{options_.new_pilot(), kind.first, walltime_for(kind, ready.size())};
    actions_.journal.push_back(made);
    actions_.make.push_back(made);
    actions_.submit.push_back(made);
    auto& pilot = pilots_[made.pilot];
    pilot.shape = made.shape;
    pilot.walltime = made.walltime;
    pilot.stage = Pilot::Stage::handing_in;
    hand(ready.extract(ready.begin()).mapped(), made.pilot, pilot);
    ++waiting;
  }
}

// As long as the attempt asks for; longer if many wait for few pilots, so that each can take several.
std::chrono::seconds Engine::walltime_for(const Class& kind, std::size_t ready) const {
  const auto limits = options_.rules.queues.find(kind.first.queue);
  const auto found = limits == options_.rules.queues.end() ? QueueLimits{} : limits->second;
  const auto asked = kind.second;
  if (asked.count() == 0) return found.max_walltime;
  const auto pilots = static_cast<std::size_t>(std::max(1, found.max_queued));
  const auto each = std::clamp<std::size_t>((ready + pilots - 1) / pilots, 1, 16);
  const std::chrono::seconds most =
      found.max_walltime.count() > 0 ? found.max_walltime : std::chrono::hours(24);
  return std::max(asked, std::min(asked * static_cast<std::int64_t>(each), most));
}

}  // namespace longship::agent
