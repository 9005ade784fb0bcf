// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace longship::study {
namespace {

void put(std::vector<Attribute>& attributes, const Attribute& attribute) {
  for (auto& old : attributes)
    if (old.system == attribute.system && old.key == attribute.key) {
      old.json = attribute.json;
      return;
    }
  attributes.push_back(attribute);
}

void check_values(const TrialFinished& event, std::size_t objectives) {
  if (!is_finished(event.state))
    throw Error(Failure::usage, "trial {} cannot end as {}", event.number, name_of(event.state));
  if (event.state == TrialState::complete && event.values.size() != objectives)
    throw Error(Failure::usage, "trial {}: {} values for {} objectives", event.number, event.values.size(),
                objectives);
  for (const double value : event.values)
    if (std::isnan(value)) throw Error(Failure::usage, "trial {}: NaN is no value", event.number);
}

}  // namespace

History::History(std::vector<std::uint8_t> maximise) : maximise_(std::move(maximise)) {
  if (maximise_.empty()) throw Error(Failure::usage, "a study needs an objective");
}

ParameterId History::parameter(const std::string& name, const Domain& domain) {
  auto& same_name = by_name_[name];
  for (const auto id : same_name)
    if (parameters_[id].domain == domain) return id;
  const Domain good = checked(name, domain);
  for (const auto id : same_name) {
    const Domain& before = parameters_[id].domain;
    if (before == good) return id;
    if (before.kind != good.kind || before.choices != good.choices)
      throw Error(Failure::usage,
                  "parameter \"{}\" was {} in earlier trials, and is now {}: give it another name", name,
                  text_of(before), before.kind == good.kind ? "one of others" : text_of(good));
  }
  parameters_.push_back({name, good, Axis(good)});
  same_name.push_back(static_cast<ParameterId>(parameters_.size() - 1));
  return same_name.back();
}

std::optional<std::size_t> History::index_of(TrialNumber number) const {
  const auto found = by_number_.find(number);
  if (found == by_number_.end()) return {};
  return found->second;
}

const Trial& History::trial(TrialNumber number) const {
  const auto index = index_of(number);
  if (!index) throw Error(Failure::usage, "there is no trial {}", number);
  return trials_[*index];
}

Trial& History::known(TrialNumber number) {
  return trials_[index_of(number).value()];
}

std::optional<TrialNumber> History::first_waiting() const {
  for (std::size_t index = waiting_from_; index < trials_.size(); ++index)
    if (trials_[index].state == TrialState::waiting) return trials_[index].number;
  return {};
}

std::span<const std::uint32_t> History::changes_from(std::size_t cursor) const {
  return std::span(changes_).subspan(std::min(cursor, changes_.size()));
}

double History::signed_value(double value, std::size_t objective) const {
  return maximise_[objective] ? -value : value;
}

double History::loss(const Trial& trial, std::size_t objective) const {
  return objective < trial.values.size() ? signed_value(trial.values[objective], objective)
                                         : std::numeric_limits<double>::infinity();
}

void History::check(const Event& event) const {
  const auto check_running = [&](TrialNumber number) {
    const auto state = trial(number).state;
    if (is_finished(state))
      throw Error(Failure::usage, "trial {} has been told already: it is {}", number, name_of(state));
  };
  if (const auto* finished = std::get_if<TrialFinished>(&event)) {
    check_running(finished->number);
    check_values(*finished, objectives());
  } else if (const auto* suggested = std::get_if<Suggested>(&event)) {
    check_running(suggested->number);
  } else if (const auto* reported = std::get_if<Reported>(&event)) {
    check_running(reported->number);
  } else if (const auto* noted = std::get_if<Noted>(&event)) {
    (void)trial(noted->number);
  } else if (const auto* constrained = std::get_if<Constrained>(&event)) {
    (void)trial(constrained->number);
  }
}

void History::apply(const Event& event) {
  std::visit([this](const auto& what) { on(what); }, event);
}

Trial& History::begin(TrialNumber number) {
  const auto [place, is_new] = by_number_.try_emplace(number, static_cast<std::uint32_t>(trials_.size()));
  if (is_new) {
    trials_.emplace_back();
    trials_.back().number = number;
    next_number_ = std::max(next_number_, number + 1);
  }
  return trials_[place->second];
}

void History::changed(const Trial& trial) {
  changes_.push_back(static_cast<std::uint32_t>(&trial - trials_.data()));
}

void History::on(const TrialEnqueued& event) {
  auto& trial = begin(event.number);
  if (is_finished(trial.state) || trial.begun > 0) return;  // another's journal was read first
  trial.state = TrialState::waiting;
  trial.wishes = event.wishes;
  waiting_from_ = std::min(waiting_from_, static_cast<std::size_t>(&trial - trials_.data()));
  changed(trial);
}

void History::on(const TrialBegun& event) {
  auto& trial = begin(event.number);
  if (is_finished(trial.state)) return;
  trial.state = TrialState::running;
  trial.begun = event.time;
  trial.generation = event.generation;
  trial.planned = event.planned;
  while (waiting_from_ < trials_.size() && trials_[waiting_from_].state != TrialState::waiting)
    ++waiting_from_;
  changed(trial);
}

void History::on(const Suggested& event) {
  auto& trial = begin(event.number);
  if (find(trial.point, event.assigned.parameter) == nullptr) trial.point.push_back(event.assigned);
}

void History::on(const Reported& event) {
  begin(event.number).reports.try_emplace(event.step, event.value);
}

void History::on(const Noted& event) {
  auto& trial = begin(event.number);
  put(trial.attributes, event.attribute);
  changed(trial);
}

void History::on(const Constrained& event) {
  auto& trial = begin(event.number);
  trial.constraints = event.constraints;
  changed(trial);
}

void History::on(const TrialFinished& event) {
  auto& trial = begin(event.number);
  if (is_finished(trial.state))
    return;  // two processes told it at the same time: the first that is read counts
  trial.state = event.state;
  trial.values = event.values;
  trial.ended = event.time;
  if (trial.state != TrialState::failed) {
    narrow_common(trial);
    ++finished_;
  }
  changed(trial);
}

void History::on(const StudyNoted& event) {
  put(attributes_, event.attribute);
}

void History::narrow_common(const Trial& trial) {
  if (finished_ == 0) {
    for (const auto& assigned : trial.point) common_.push_back(assigned.parameter);
    std::sort(common_.begin(), common_.end());
  } else {
    std::erase_if(common_, [&](ParameterId id) { return find(trial.point, id) == nullptr; });
  }
}

}  // namespace longship::study
