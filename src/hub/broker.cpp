// SPDX-License-Identifier: Apache-2.0
#include "broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "site/match.h"

namespace longship::hub {
namespace {

// --- the verdict on what does not change from one moment to the next ---

struct Requested {
  const job::Job& job;
  site::Requester requester;
  std::vector<site::Variant> variants;
};

Requested requested(const State& state, const Kind& kind) {
  const auto& job = state.spec(kind.key.spec).job;
  return {job,
          {state.texts[kind.key.owner], state.texts[kind.key.team]},
          job.image.empty() ? std::vector<site::Variant>{} : site::find_variants(state.images, job.image)};
}

site::Verdict verdict(const State& state, const Kind& kind, const Requested& asked, const Site& site,
                      const site::Queue& queue) {
  if (kind.key.site != 0 && state.texts[kind.key.site] != site.record.name)
    return {false, fmt::format("is for site {} only", state.texts[kind.key.site]), {}, {}};
  return site::match(asked.job, asked.requester, *site.record.description, queue, asked.variants);
}

bool usable(const Site& site) {
  return !site.record.removed && site.record.description != nullptr;
}

const std::vector<Place>& fits(State& state, KindId id) {
  auto& kind = state.kind(id);
  if (kind.fits_version == state.world) return kind.fits;
  kind.fits.clear();
  kind.fits_version = state.world;
  const auto asked = requested(state, kind);
  for (SiteId at = 0; at < state.sites().size(); ++at) {
    const auto& site = state.site(at);
    if (!usable(site)) continue;
    for (const auto& queue : site.record.description->queues) {
      const auto found = verdict(state, kind, asked, site, queue);
      if (!found.fits) continue;
      Place place{at, state.texts.id(queue.name), 0,
                  static_cast<std::uint32_t>(std::max(queue.max_queued, 1))};
      if (found.variant)
        place.image = state.texts.id(
            formats::dump_json(store::to_json(state.images[asked.variants[*found.variant].index])));
      kind.fits.push_back(place);
    }
  }
  return kind.fits;
}

// --- what does: room, silence, a job's own past ---

struct Load {
  std::uint32_t waiting = 0, most = 0;
  [[nodiscard]] bool full() const { return waiting >= most; }
};

Load load(const Site& site, TextId queue, bool small, std::uint32_t max_queued) {
  const auto found = site.windows.find(queue);
  const auto window = found == site.windows.end() ? Window{} : found->second;
  return small ? Load{window.small, small_window} : Load{window.large, max_queued};
}

// Nothing, or why this job must not go to that site, though others of its kind may.
std::optional<std::string> own_objection(const State& state, const Job& job, SiteId at,
                                         bool fits_where_checkpoint_is) {
  const auto& site = state.site(at);
  for (const auto& attempt : job.attempts)
    if (attempt.result == Result::refused && attempt.site == at &&
        attempt.site_version == site.record.text_version)
      return fmt::format("the site refused it: {}", state.texts[attempt.reason]);
  if (job.resume_at == none || job.resume_at == at || !fits_where_checkpoint_is) return {};
  const auto& home = state.site(job.resume_at);
  if (job.newest()->result != Result::timed_out && !home.up)
    return {};  // better from the start than not at all
  return fmt::format("its checkpoint is at site {}", home.record.name);
}

bool fits_at(const std::vector<Place>& places, SiteId site) {
  return std::any_of(places.begin(), places.end(), [&](const Place& place) { return place.site == site; });
}

// The emptiest of the queues that have room.
const Place* choose(const State& state, const Kind& kind, const std::vector<Place>& places,
                    const Job* alone) {
  const Place* best = nullptr;
  std::uint32_t least = 0;
  const bool at_checkpoint =
      alone != nullptr && alone->resume_at != none && fits_at(places, alone->resume_at);
  for (const auto& place : places) {
    const auto& site = state.site(place.site);
    const auto now = load(site, place.queue, kind.small, place.max_queued);
    if (!site.up || now.full()) continue;
    if (alone != nullptr && own_objection(state, *alone, place.site, at_checkpoint)) continue;
    if (best != nullptr && now.waiting >= least) continue;
    best = &place;
    least = now.waiting;
  }
  return best;
}

bool any_room(const State& state) {
  for (const auto& site : state.sites()) {
    if (!site.up || !usable(site)) continue;
    for (const auto& queue : site.record.description->queues) {
      const auto id = state.texts.find(queue.name);
      if (!id || !load(site, *id, true, 0).full() ||
          !load(site, *id, false, static_cast<std::uint32_t>(std::max(queue.max_queued, 1))).full())
        return true;
    }
  }
  return false;
}

// --- one pass ---

class Pass {
 public:
  explicit Pass(const Step& step) : step_(step) {}
  ~Pass() {
    for (auto& [link, batch] : batches_) flush(link, batch);
  }

  // One job of that owner; false: there is none that can go.
  bool turn(Line& line) {
    auto at = line.candidates.lower_bound(line.cursor);
    while (at != line.candidates.end() && looks_ > 0) {
      const auto candidate = *at;
      const bool alone = candidate.kind == none;
      const auto& job = step_.state.job(candidate.head);
      const auto& kind = step_.state.kind_of(job);
      const auto* place = choose(step_.state, kind, fits(step_.state, job.kind), alone ? &job : nullptr);
      if (place != nullptr) {
        send(candidate.head, *place);
        return true;
      }
      --looks_;
      line.cursor = {candidate.head, candidate.kind == none ? none : candidate.kind + 1};
      at = line.candidates.upper_bound(candidate);
    }
    if (at == line.candidates.end()) line.cursor = {0, 0};
    return false;
  }

 private:
  struct Batch {
    message::Carry carry;
    std::size_t bytes = 0;
  };

  void send(JobIndex index, const Place& place) {
    const auto link = step_.state.site(place.site).link;
    begin_attempt(step_, index, Place(place));
    const auto& job = step_.state.job(index);
    auto& batch = batches_[link];
    auto& sent = batch.carry.assignments.emplace_back(assignment_of(step_.state, job, *job.newest()));
    batch.bytes += 2 * (sent.job.size() + sent.image.size()) + 512;
    if (batch.bytes > std::size_t{1} << 20) flush(link, batch);
  }
  void flush(LinkId link, Batch& batch) {
    if (!batch.carry.assignments.empty()) step_.send(link, std::move(batch.carry));
    batch = {};
  }

  const Step& step_;
  std::map<LinkId, Batch> batches_;
  int looks_ = looks_per_pass;
};

}  // namespace

void place_waiting(const Step& step) {
  auto& state = step.state;
  state.place_wanted = false;
  if (!any_room(state)) return;
  std::vector<TextId> turns;
  for (auto& [owner, line] : state.lines())
    if (!line.candidates.empty()) turns.push_back(owner);
  const auto first = std::upper_bound(turns.begin(), turns.end(), state.next_owner);
  std::rotate(turns.begin(), first, turns.end());
  Pass pass(step);
  while (!turns.empty())
    std::erase_if(turns, [&](TextId owner) {
      const bool placed = pass.turn(state.lines()[owner]);
      if (placed) state.next_owner = owner;
      return !placed;
    });
}

std::vector<Prospect> prospects(const State& state, const Job& job) {
  const auto& kind = state.kind_of(job);
  const auto asked = requested(state, kind);
  std::vector<Prospect> found;
  bool at_checkpoint = false;
  for (SiteId at = 0; at < state.sites().size(); ++at) {
    const auto& site = state.site(at);
    if (site.record.removed) continue;
    if (!usable(site)) {
      found.push_back({at, {}, false, "its agent has not been heard of yet", {}});
      continue;
    }
    for (const auto& queue : site.record.description->queues) {
      auto answer = verdict(state, kind, asked, site, queue);
      auto& one = found.emplace_back(Prospect{at, queue.name, answer.fits, {}, {}});
      one.reason = answer.remedy.empty() ? answer.reason : answer.reason + ": " + answer.remedy;
      if (answer.fits) one.reason.clear();
      if (answer.variant) one.image = asked.variants[*answer.variant].name;
      at_checkpoint = at_checkpoint || (answer.fits && at == job.resume_at);
    }
  }
  for (auto& one : found) {
    if (!one.fits) continue;
    const auto& site = state.site(one.site);
    const auto* queue = site::find_queue(*site.record.description, one.queue);
    const auto room = load(site, state.texts.find(one.queue).value_or(none), kind.small,
                           static_cast<std::uint32_t>(std::max(queue->max_queued, 1)));
    if (auto objection = own_objection(state, job, one.site, at_checkpoint))
      one.reason = *objection;
    else if (!site.up)
      one.reason = site.condition.empty() ? "the site is silent" : "the site is silent: " + site.condition;
    else if (room.full())
      one.reason = fmt::format("waits for room: {} of {} places are taken by jobs that wait there",
                               room.waiting, room.most);
  }
  return found;
}

std::string why_waiting(const State& state, const Job& job, const std::vector<Prospect>& prospects) {
  if (job.not_before != Moment{}) return state.texts[job.reason] + "; it will be tried again in a moment";
  if (prospects.empty()) return "no site is known: add one with longship site add NAME, or start longship up";
  const auto named = [&](const Prospect& one) {
    const auto& site = state.site(one.site).record.name;
    return one.queue.empty() ? fmt::format("site {}", site)
                             : fmt::format("site {}, queue {}", site, one.queue);
  };
  const Prospect* best = nullptr;
  for (const auto& one : prospects) {
    if (one.fits && one.reason.empty()) return fmt::format("goes to {} in a moment", named(one));
    if (best == nullptr || (one.fits && !best->fits)) best = &one;
  }
  auto text = fmt::format("{}: {}", named(*best), best->reason);
  if (!best->fits && prospects.size() > 1)
    text = fmt::format("fits none of {} queues; {}", prospects.size(), text);
  return text;
}

}  // namespace longship::hub
