// SPDX-License-Identifier: Apache-2.0
// A study: a history, a sampler that proposes, a pruner that gives up, and a journal if it is to outlive the
// process. Not for several threads at once: the caller takes care.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "history.h"
#include "journal.h"
#include "pruner.h"
#include "sampler.h"

namespace longship::study {

class Study {
 public:
  // In memory only.
  explicit Study(std::vector<std::uint8_t> maximise);
  // In a directory, made or continued; an Error if one is there that has other objectives.
  Study(const std::filesystem::path& directory, std::string name, std::vector<std::uint8_t> maximise);
  // What is there already; nothing if no study is.
  [[nodiscard]] static std::unique_ptr<Study> load(const std::filesystem::path& directory);

  void use(std::unique_ptr<Sampler> sampler);
  void use(std::unique_ptr<Pruner> pruner);  // without one nothing is ever pruned

  ParameterId parameter(const std::string& name, const Domain& domain);

  // Begins a trial: the first that waits, or a new one. Time is in seconds since 1970.
  // A new one gets the wishes, before it begins: whoever finds it later knows by them whose it is.
  TrialNumber ask(double now, std::map<std::string, std::string> wishes = {});
  // Tells the sampler in advance what the trials of this study have, so that it need not wait and see.
  void declare(std::vector<ParameterId> space) { declared_ = std::move(space); }
  // The same trial and parameter always get the same value.
  double suggest(TrialNumber number, ParameterId parameter);
  void report(TrialNumber number, std::int64_t step, double value);
  [[nodiscard]] bool should_prune(TrialNumber number);
  void note(TrialNumber number, Attribute attribute);
  void note(Attribute attribute);
  void constrain(TrialNumber number, std::vector<double> constraints);
  void tell(TrialNumber number, TrialState state, std::vector<double> values, double now);

  // Puts a trial into the queue; its wishes are values in JSON.
  TrialNumber enqueue(std::map<std::string, std::string> wishes);
  // A trial that was carried out elsewhere. Its number is given here.
  TrialNumber add(Trial trial);

  void refresh();  // reads what other processes have done
  // What of the journal cannot be read; nothing if it is in memory only.
  [[nodiscard]] std::vector<Journal::Damage> damage() const;
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Study(std::unique_ptr<Journal> journal, const Opened& opened);
  void happen(const Event& event, bool durable = false);
  void define(const Point& point);
  void receive(const Event& event);
  TrialNumber new_number();
  std::optional<TrialNumber> take_waiting();
  [[nodiscard]] std::vector<ParameterId> space_of(const Trial* trial) const;
  [[nodiscard]] std::optional<double> wish(const Trial& trial, ParameterId parameter) const;

  std::string name_;
  History history_;
  std::unique_ptr<Journal> journal_;
  bool others_ = false;  // somebody has written there
  std::unique_ptr<Sampler> sampler_;
  std::unique_ptr<Pruner> pruner_;
  std::vector<ParameterId> declared_;
};

}  // namespace longship::study
