// SPDX-License-Identifier: Apache-2.0
#include "study.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace longship::study {
namespace {

constexpr std::uint32_t journal_version = 1;

// What the logs in a directory agree on; nothing if no process ever wrote there.
std::optional<Opened> look(const std::filesystem::path& directory) {
  std::optional<Opened> found;
  Journal(directory).read_new([](const ParameterDefined& defined) { return defined.id; },
                              [&](const Event& event) {
                                if (const auto* opened = std::get_if<Opened>(&event); opened && !found)
                                  found = *opened;
                              });
  return found;
}

}  // namespace

Study::Study(std::vector<std::uint8_t> maximise) : history_(std::move(maximise)) {}

Study::Study(const std::filesystem::path& directory, std::string name, std::vector<std::uint8_t> maximise)
    : Study(std::make_unique<Journal>(directory),
            Opened{journal_version, std::move(name), std::move(maximise)}) {
  if (!others_) journal_->begin();
}

Study::Study(std::unique_ptr<Journal> journal, const Opened& opened)
    : name_(opened.name), history_(opened.maximise), journal_(std::move(journal)) {
  journal_->introduce(opened);
  refresh();
}

std::unique_ptr<Study> Study::load(const std::filesystem::path& directory) {
  auto found = look(directory);
  if (!found) return nullptr;
  return std::unique_ptr<Study>(new Study(std::make_unique<Journal>(directory), *found));
}

void Study::use(std::unique_ptr<Sampler> sampler) {
  sampler_ = std::move(sampler);
}

void Study::use(std::unique_ptr<Pruner> pruner) {
  pruner_ = std::move(pruner);
}

ParameterId Study::parameter(const std::string& name, const Domain& domain) {
  return history_.parameter(name, domain);
}

void Study::refresh() {
  if (!journal_) return;
  journal_->read_new(
      [this](const ParameterDefined& defined) { return history_.parameter(defined.name, defined.domain); },
      [this](const Event& event) { receive(event); });
}

std::vector<Journal::Damage> Study::damage() const {
  return journal_ ? journal_->damage() : std::vector<Journal::Damage>{};
}

void Study::receive(const Event& event) {
  if (const auto* opened = std::get_if<Opened>(&event)) {
    others_ = true;
    if (opened->version > journal_version)
      throw Error("it has version {} of the format: a newer program wrote it", opened->version);
    if (opened->maximise != history_.maximise())
      throw Error(Failure::usage, "the study there has other objectives or directions than this one");
  }
  history_.apply(event);
}

// Checked, made durable, then true.
void Study::happen(const Event& event, bool durable) {
  history_.check(event);
  if (journal_) {
    if (const auto* begun = std::get_if<TrialBegun>(&event)) define(begun->planned);
    if (const auto* suggested = std::get_if<Suggested>(&event)) define({suggested->assigned});
    journal_->write(event, durable);
  }
  history_.apply(event);
}

void Study::define(const Point& point) {
  for (const auto& [id, _] : point) {
    if (journal_->knows(id)) continue;
    const auto& parameter = history_.parameter(id);
    journal_->write(ParameterDefined{id, parameter.name, parameter.domain}, false);
  }
}

TrialNumber Study::new_number() {
  return journal_ ? journal_->claim_number() : history_.next_number();
}

std::optional<TrialNumber> Study::take_waiting() {
  while (const auto number = history_.first_waiting()) {
    if (!journal_ || journal_->claim_waiting(*number)) return number;
    history_.apply(TrialBegun{*number, 0, -1, {}});  // somebody else has it; his own record is on its way
  }
  return {};
}

std::vector<ParameterId> Study::space_of(const Trial* trial) const {
  auto space = declared_.empty() ? history_.common_parameters() : declared_;
  std::erase_if(space, [&](ParameterId id) {
    const auto& parameter = history_.parameter(id);
    return is_single(parameter.domain) || (trial != nullptr && trial->wishes.contains(parameter.name));
  });
  return space;
}

TrialNumber Study::ask(double now, std::map<std::string, std::string> wishes) {
  if (!sampler_) throw Error(Failure::usage, "the study has no sampler");
  refresh();
  const auto waiting = take_waiting();
  const auto number = waiting ? *waiting : new_number();
  if (!waiting && !wishes.empty()) happen(TrialEnqueued{number, std::move(wishes)});
  const auto space = space_of(history_.index_of(number) ? &history_.trial(number) : nullptr);
  auto plan = sampler_->plan(history_, number, space);
  happen(TrialBegun{number, now, plan.generation, std::move(plan.point)});
  return number;
}

// What the one who enqueued the trial wants, if the parameter can have it.
std::optional<double> Study::wish(const Trial& trial, ParameterId id) const {
  const auto& [name, domain, _] = history_.parameter(id);
  const auto found = trial.wishes.find(name);
  if (found == trial.wishes.end()) return {};
  if (domain.kind == Kind::category) {
    const auto choice = std::find(domain.choices.begin(), domain.choices.end(), found->second);
    if (choice == domain.choices.end()) return {};
    return static_cast<double>(choice - domain.choices.begin());
  }
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (end == found->second.c_str() || *end != '\0' || !contains(domain, value)) return {};
  return value;
}

double Study::suggest(TrialNumber number, ParameterId parameter) {
  const auto& trial = history_.trial(number);
  if (const auto* given = find(trial.point, parameter)) return given->value;
  const auto& domain = history_.parameter(parameter).domain;
  double value = domain.low;
  if (const auto wished = wish(trial, parameter))
    value = *wished;
  else if (const auto* planned = find(trial.planned, parameter))
    value = planned->value;
  else if (!is_single(domain))
    value = sampler_->one(history_, number, parameter);
  happen(Suggested{number, {parameter, value}});
  return value;
}

void Study::report(TrialNumber number, std::int64_t step, double value) {
  if (step < 0) throw Error(Failure::usage, "trial {}: {} is no step: they begin at 0", number, step);
  happen(Reported{number, step, value});
}

bool Study::should_prune(TrialNumber number) {
  if (!pruner_) return false;
  refresh();
  const auto& trial = history_.trial(number);
  return trial.state == TrialState::running && !trial.reports.empty() &&
         pruner_->should_prune(history_, trial);
}

void Study::note(TrialNumber number, Attribute attribute) {
  happen(Noted{number, std::move(attribute)});
}

void Study::note(Attribute attribute) {
  happen(StudyNoted{std::move(attribute)});
}

void Study::constrain(TrialNumber number, std::vector<double> constraints) {
  for (const double constraint : constraints)
    if (std::isnan(constraint)) throw Error(Failure::usage, "trial {}: NaN is no constraint", number);
  happen(Constrained{number, std::move(constraints)});
}

void Study::tell(TrialNumber number, TrialState state, std::vector<double> values, double now) {
  if (!history_.index_of(number)) refresh();
  happen(TrialFinished{number, state, std::move(values), now}, true);
}

TrialNumber Study::enqueue(std::map<std::string, std::string> wishes) {
  const auto number = new_number();
  happen(TrialEnqueued{number, std::move(wishes)}, true);
  return number;
}

TrialNumber Study::add(Trial trial) {
  for (const auto& [parameter, value] : trial.point)
    if (const auto& [name, domain, _] = history_.parameter(parameter); !contains(domain, value))
      throw Error(Failure::usage, "parameter \"{}\": {} is not {}", name, value, text_of(domain));
  if (trial.state == TrialState::waiting) return enqueue(std::move(trial.wishes));
  const auto number = new_number();
  happen(TrialBegun{number, trial.begun, -1, {}});
  for (const auto& assigned : trial.point) happen(Suggested{number, assigned});
  for (const auto& [step, value] : trial.reports) happen(Reported{number, step, value});
  for (auto& attribute : trial.attributes) happen(Noted{number, std::move(attribute)});
  if (!trial.constraints.empty()) constrain(number, std::move(trial.constraints));
  if (is_finished(trial.state)) tell(number, trial.state, std::move(trial.values), trial.ended);
  return number;
}

}  // namespace longship::study
