// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "turns.h"

namespace longship::sweep {
namespace {

using study::Trial;
using study::TrialNumber;
using study::TrialState;

constexpr int most_losses = 10;  // of one trial: then it is the trial that kills its machines

bool is_ours(const Trial& trial) {
  if (find_remark(trial.attributes, remark::asked) != nullptr) return false;
  return trial.wishes.contains(remark::mark) || find_remark(trial.attributes, remark::attempt) != nullptr;
}

int number_in(const formats::Value& value, std::string_view key) {
  const auto* found = value.find(key);
  return found != nullptr && found->is(formats::Kind::integer) ? static_cast<int>(found->integer()) : 0;
}

}  // namespace

Engine::Engine(study::Study& study, const StudyFile& file, int nodes, double now)
    : study_(study), file_(file), nodes_(nodes), begun_(now) {
  const auto& budget = file.budget;
  if (!is_scan(file) && budget.trials == 0 && budget.node_hours == 0 && budget.time.count() == 0)
    throw Error(Failure::usage,
                "the study {} has no end: give it a budget, [budget] with trials, node_hours or time",
                file.name);
  prepared_ = prepare(study_, file_);
  for (const auto& trial : study_.history().trials()) take_over(trial, now);
}

std::uint64_t Engine::expected() const {
  const auto trials = file_.budget.trials;
  if (!is_scan(file_)) return trials;
  return trials == 0 ? prepared_.points : std::min(trials, prepared_.points);
}

// What an earlier engine left.
void Engine::take_over(const Trial& trial, double now) {
  if (find_remark(trial.attributes, remark::taken_from) != nullptr) return;
  if (find_remark(trial.attributes, remark::rejected) != nullptr && is_finished(trial.state)) return;
  Running running;
  if (const auto* json = find_remark(trial.attributes, remark::attempt)) {
    const auto value = formats::parse_json(*json, "a trial's remark");
    running.attempt = number_in(value, "attempt");
    running.failures = number_in(value, "failures");
    running.losses = number_in(value, "losses");
    if (const auto* spent = value.find("node_seconds")) running.node_seconds = spent->number();
  }
  if (is_finished(trial.state)) {
    count(trial.state);
    spent_ += running.node_seconds;
    return;
  }
  if (trial.state != TrialState::running || !is_ours(trial)) return;
  if (const auto* json = find_remark(trial.attributes, remark::known_as))
    running.known_as = formats::parse_json(*json, "a trial's remark").text();
  running.since = now;
  running_.emplace(trial.number, running);
  again(trial.number, now, false);
}

std::vector<Action> Engine::step(double now) {
  auto actions = std::move(due_);
  due_.clear();
  while (running_.size() < static_cast<std::size_t>(file_.parallel) && may_begin(now) &&
         begin(now, actions)) {
  }
  ended_ = !may_begin(now);
  return actions;
}

double Engine::node_seconds(double now) const {
  double sum = spent_;
  const auto over = counts_.all();
  const double usual = over > 0 ? spent_ / static_cast<double>(over) : 0;
  for (const auto& [number, running] : running_)  // what they will have cost, as far as one can tell
    sum += std::max(running.node_seconds + (now - running.since) * nodes_, usual);
  return sum;
}

bool Engine::may_begin(double now) {
  const auto& budget = file_.budget;
  if (budget.trials > 0 && counts_.all() + running_.size() >= budget.trials) return false;
  if (budget.time.count() > 0 && now - begun_ >= static_cast<double>(budget.time.count())) return false;
  if (budget.node_hours > 0 && node_seconds(now) >= budget.node_hours * 3600) return false;
  return !is_scan(file_) || study_.history().first_waiting();
}

// False: there was nothing to begin.
bool Engine::begin(double now, std::vector<Action>& actions) {
  auto drawn = draw_next(study_, file_, prepared_.ids, now, {{remark::mark, "\"new\""}});
  if (!drawn) return false;
  auto& running = running_[drawn->trial];
  running.since = now;
  start(drawn->trial, running, std::move(drawn->values), actions);
  return true;
}

void Engine::start(TrialNumber trial, Running& running, formats::Table values, std::vector<Action>& actions) {
  ++running.attempt;
  write_remarks(trial, running);
  const auto parent = parent_of(study_.history().trial(trial));
  actions.emplace_back(Start{trial, running.attempt, std::move(values), parent, running.known_as});
}

void Engine::write_remarks(TrialNumber trial, const Running& running) {
  formats::Table table;
  table.set("attempt", running.attempt);
  table.set("failures", running.failures);
  table.set("losses", running.losses);
  table.set("node_seconds", running.node_seconds);
  study_.note(trial, {true, remark::attempt, formats::dump_json(table)});
}

void Engine::started(TrialNumber trial, const std::string& known_as) {
  const auto found = running_.find(trial);
  if (found == running_.end() || known_as.empty() || found->second.known_as == known_as) return;
  found->second.known_as = known_as;
  study_.note(trial, {true, remark::known_as, formats::json_text(known_as)});
}

void Engine::hear(double now, const Heard& heard) {
  std::visit([&](const auto& what) { on(now, what); }, heard);
}

void Engine::on(double, const Progress& progress) {
  const auto found = running_.find(progress.trial);
  if (found == running_.end() || progress.step < 0) return;
  const auto& trial = study_.history().trial(progress.trial);
  if (trial.state != TrialState::running || trial.reports.contains(progress.step)) return;
  study_.report(progress.trial, progress.step, progress.value);
  if (found->second.stopping || !study_.should_prune(progress.trial)) return;
  found->second.stopping = true;
  due_.emplace_back(Stop{progress.trial});
}

void Engine::on(double now, const Ended& ended) {
  const auto found = running_.find(ended.trial);
  if (found == running_.end()) return;
  auto& running = found->second;
  running.node_seconds += ended.node_seconds;
  running.since = now;
  const auto& reports = study_.history().trial(ended.trial).reports;
  if (running.stopping && ended.ending != Ending::finished) {
    const double last = reports.empty() ? NAN : reports.rbegin()->second;
    finish(ended.trial, TrialState::pruned, std::isnan(last) ? std::vector<double>{} : std::vector{last}, now,
           "");
    return;
  }
  switch (ended.ending) {
    case Ending::finished:
      for (std::size_t i = 0; i < file_.objectives.size(); ++i) {
        const auto& metric = file_.objectives[i].metric;
        if (i >= ended.values.size())
          return finish(
              ended.trial, TrialState::failed, {}, now,
              ended.reason.empty() ? fmt::format("it never reported \"{}\"", metric) : ended.reason);
        if (std::isnan(ended.values[i]))
          return finish(ended.trial, TrialState::failed, {}, now, fmt::format("\"{}\" is NaN", metric));
      }
      return finish(ended.trial, TrialState::complete, ended.values, now, "");
    case Ending::cancelled:
      return finish(ended.trial, TrialState::failed, {}, now, ended.reason);
    case Ending::failed:
      if (++running.failures > file_.retries)
        return finish(ended.trial, TrialState::failed, {}, now, ended.reason);
      break;
    case Ending::lost:
      if (++running.losses > most_losses)
        return finish(ended.trial, TrialState::failed, {}, now,
                      fmt::format("lost {} times, the last time: {}", running.losses, ended.reason));
      break;
  }
  running.known_as.clear();
  again(ended.trial, now, true);
}

// The same trial with the same values, once more: as another attempt, or as the one that an engine before
// this began and may have handed over already.
void Engine::again(TrialNumber trial, double now, bool another_attempt) {
  auto& running = running_.at(trial);
  auto values = draw(study_, trial, file_.space, prepared_.ids);
  if (const auto* rule = broken_rule(file_.space, values)) {
    running_.erase(trial);
    return reject(study_, trial, *rule, now);
  }
  if (!another_attempt && running.attempt > 0) --running.attempt;
  start(trial, running, std::move(values), due_);
}

void Engine::finish(TrialNumber trial, TrialState state, std::vector<double> values, double now,
                    const std::string& reason) {
  auto& running = running_.at(trial);
  write_remarks(trial, running);
  if (!reason.empty()) study_.note(trial, {true, remark::reason, formats::json_text(reason)});
  spent_ += running.node_seconds;
  running_.erase(trial);
  // Somebody may have told it by hand: that counts, and only once.
  study_.refresh();
  if (const auto known = study_.history().trial(trial).state; is_finished(known)) return count(known);
  study_.tell(trial, state, std::move(values), now);
  count(state);
}

void Engine::count(TrialState state) {
  auto& counter = state == TrialState::complete ? counts_.complete
                  : state == TrialState::pruned ? counts_.pruned
                                                : counts_.failed;
  ++counter;
}

}  // namespace longship::sweep
