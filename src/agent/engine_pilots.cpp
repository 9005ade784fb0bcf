// SPDX-License-Identifier: Apache-2.0
// What becomes of a pilot, and of what it had, when it ends, was never handed in, or is heard of no more.
#include <fmt/core.h>

#include <algorithm>

#include "engine.h"

namespace longship::agent {

using message::Outcome;

bool Engine::over(const Pilot& pilot) const {
  if (pilot.left) return true;
  if (!pilot.ended) return false;
  // Its last records may come late. If all it had is to be stopped anyway, there is less to wait for.
  const bool nothing_at_stake = std::all_of(pilot.holds.begin(), pilot.holds.end(), [&](const auto& id) {
    return attempts_.at(id).stop.has_value();
  });
  const Duration grace = nothing_at_stake ? options_.rules.gone_grace / 6 : options_.rules.gone_grace;
  return now_ - std::max(*pilot.ended, pilot.heard.value_or(*pilot.ended)) >= grace;
}

void Engine::judge(const std::string& name, Pilot& pilot) {
  if (over(pilot)) {
    std::string why = pilot.left ? *pilot.left : "the batch system says that it ended";
    if (!pilot.left && !pilot.report.reason.empty()) why += fmt::format(" ({})", pilot.report.reason);
    if (!pilot.left && !pilot.last_words.empty())
      why += fmt::format("; its last words: {}", pilot.last_words);
    if (!pilot.began && !pilot.holds.empty() && !pilot.abandoned && !pilot.cancelled)
      trouble(pilot.shape.queue, fmt::format("pilot {} ended before it began: {}", name, why));
    settle_holds(name, pilot, why);
    return;
  }
  if (pilot.abandoned) {
    // It was handed in after all: it finds Leave in its log, but need not wait for that.
    if (pilot.report.state == batch::State::queued || pilot.report.state == batch::State::running)
      cancel(name, pilot);
    if (!pilot.left && pilot.unknown && now_ - *pilot.unknown >= options_.rules.forget)
      pilot.left = "it never was";
    return;
  }
  judge_doubt(name, pilot);
  judge_unknown(name, pilot);
}

// Nothing more will come from it.
void Engine::settle_holds(const std::string& name, Pilot& pilot, const std::string& why) {
  const auto holds = std::exchange(pilot.holds, {});
  if (!holds.empty() || pilot.settled == 0) pilot.settled = step_;
  for (const auto& id : holds) {
    auto& attempt = attempts_.at(id);
    if (attempt.running)
      end(id, Outcome::lost, fmt::format("pilot {} ended without saying how it went: {}", name, why));
    else
      give_back(id, attempt, name, pilot, why);
  }
}

// What it never began may go to another, but not for ever.
void Engine::give_back(const message::AttemptId& id, Attempt& attempt, const std::string& name, Pilot& pilot,
                       const std::string& why) {
  pilot.settled = step_;
  if (attempt.stop) return end(id, Outcome::cancelled, "stopped before it began");
  if (++attempt.returned >= options_.rules.most_returns)
    return end(id, Outcome::lost,
               fmt::format("{} pilots ended before they began it; the last one: {}", attempt.returned, why));
  actions_.journal.push_back(Returned{name, id});
  pilot.void_.insert(id);
  attempt.pilot.clear();
  attempt.told = std::min(attempt.told, Told::preparing);
  make_ready(id, attempt);
}

// Handed in, but was it? The batch system was asked often enough.
void Engine::judge_doubt(const std::string& name, Pilot& pilot) {
  if (pilot.stage != Pilot::Stage::doubtful || !pilot.unknown || !pilot.asked) return;
  if (*pilot.asked - *pilot.doubted < options_.rules.doubt) return;
  actions_.journal.push_back(Abandoned{name});
  pilot.abandoned = true;
  abandon(name, pilot);
}

// Its log says Stop and Leave before anything it had goes elsewhere.
void Engine::abandon(const std::string& name, Pilot& pilot) {
  const auto holds = std::exchange(pilot.holds, {});
  pilot.void_.insert(holds.begin(), holds.end());
  for (const auto& id : pilot.void_) tell(name, message::Stop{id, message::StopReason::superseded});
  tell(name, message::Leave{});
  pilot.leaving = true;
  pilot.settled = step_;
  for (const auto& id : holds) {
    auto& attempt = attempts_.at(id);
    if (attempt.stop) {
      end(id, Outcome::cancelled, "stopped before it began");
      continue;
    }
    attempt.pilot.clear();
    make_ready(id, attempt);
  }
}

// The batch system forgot it and it says nothing. What runs, or ran, is for the hub to decide, whose lease
// runs out. What had not begun is lost in this epoch: only then may it run elsewhere.
void Engine::judge_unknown(const std::string& name, Pilot& pilot) {
  if (pilot.stage != Pilot::Stage::submitted || !pilot.unknown || !pilot.asked) return;
  const auto since = std::max(*pilot.unknown, pilot.heard.value_or(*pilot.unknown));
  if (*pilot.asked - since < options_.rules.forget) return;
  const auto holds = pilot.holds;
  for (const auto& id : holds) {
    const auto& attempt = attempts_.at(id);
    if (attempt.running && !attempt.stop) continue;
    if (!attempt.stop) tell(name, message::Stop{id, message::StopReason::superseded});
    end(id, Outcome::lost, fmt::format("pilot {} is neither heard of nor known to the batch system", name));
  }
  if (!pilot.holds.empty()) return;
  pilot.left = "the batch system forgot it";
  if (pilot.settled == 0) pilot.settled = step_;
}

void Engine::cancel(const std::string& name, Pilot& pilot) {
  if (std::exchange(pilot.cancelled, true)) return;
  actions_.cancel.push_back(name);
}

// Runs or waits for nothing.
void Engine::judge_idle(const std::string& name, Pilot& pilot) {
  if (pilot.abandoned || over(pilot) || pilot.stage != Pilot::Stage::submitted) return;
  const bool all_stopped = std::all_of(pilot.holds.begin(), pilot.holds.end(),
                                       [&](const auto& id) { return attempts_.at(id).stop.has_value(); });
  if (!pilot.began && all_stopped) {
    if (!std::exchange(pilot.leaving, true)) tell(name, message::Leave{});
    // One that runs already is about to read its log: it ends by itself.
    if (pilot.report.state != batch::State::running) cancel(name, pilot);
    return;
  }
  if (!pilot.holds.empty()) {
    pilot.idle.reset();
    return;
  }
  if (!pilot.began || pilot.leaving) return;
  if (!pilot.idle) pilot.idle = now_;
  const bool useful = !pilot.until || *pilot.until > now_;
  if (useful && now_ - *pilot.idle < options_.rules.linger && !others_wait(pilot.shape.queue)) return;
  pilot.leaving = true;
  tell(name, message::Leave{});
}

// In the step after its last word was passed on: facts come after the journal in a step, and a pilot that is
// gone is not read again.
void Engine::judge_end(const std::string& name, Pilot& pilot) {
  if (!over(pilot) || !pilot.holds.empty() || pilot.settled == 0 || pilot.settled >= step_) return;
  const bool known_to_batch =
      pilot.report.state == batch::State::queued || pilot.report.state == batch::State::running;
  const bool asked_since = pilot.asked && (!pilot.heard || *pilot.asked >= *pilot.heard);
  const bool patient = pilot.heard && now_ - *pilot.heard < std::chrono::minutes(1);
  if (patient && (known_to_batch || !asked_since)) return;  // its batch job is about to end
  if (known_to_batch) cancel(name, pilot);
  actions_.journal.push_back(Gone{name});
  actions_.remove.push_back(name);
  const std::string copy = name;
  pilots_.erase(copy);
}

}  // namespace longship::agent
