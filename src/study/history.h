// SPDX-License-Identifier: Apache-2.0
// Everything that is known of a study: its parameters and its trials. Changed by events only, and the same
// events give the same history. Samplers read it, and follow it by the list of what changed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain.h"
#include "event.h"
#include "trial.h"

namespace longship::study {

struct Parameter {
  std::string name;
  Domain domain;
  Axis axis;
};

class History {
 public:
  explicit History(std::vector<std::uint8_t> maximise = {0});

  // The parameter of this name and domain; added if it is new. The range of a number may differ from trial to
  // trial, and makes another parameter; another kind or other choices are a mistake.
  ParameterId parameter(const std::string& name, const Domain& domain);
  [[nodiscard]] const Parameter& parameter(ParameterId id) const { return parameters_[id]; }
  [[nodiscard]] std::size_t parameter_count() const { return parameters_.size(); }

  // Impossible ones (a second end of a trial, a value for one that never began) are Errors before anything
  // has changed.
  void check(const Event& event) const;
  void apply(const Event& event);

  [[nodiscard]] const std::vector<Trial>& trials() const {
    return trials_;
  }  // in the order they became known
  [[nodiscard]] std::optional<std::size_t> index_of(TrialNumber number) const;
  [[nodiscard]] const Trial& trial(TrialNumber number) const;  // an Error if there is none
  [[nodiscard]] TrialNumber next_number() const { return next_number_; }
  [[nodiscard]] std::optional<TrialNumber> first_waiting() const;

  // Indices of trials, once for each change of one that a sampler or a reader may care for.
  [[nodiscard]] std::span<const std::uint32_t> changes_from(std::size_t cursor) const;
  [[nodiscard]] std::size_t finished_count() const { return finished_; }  // complete or pruned

  // The parameters that all of the complete and pruned trials have; they can be sampled together.
  [[nodiscard]] const std::vector<ParameterId>& common_parameters() const { return common_; }

  [[nodiscard]] std::size_t objectives() const { return maximise_.size(); }
  [[nodiscard]] const std::vector<std::uint8_t>& maximise() const { return maximise_; }
  [[nodiscard]] double loss(const Trial& trial, std::size_t objective = 0) const;  // less is better
  [[nodiscard]] double signed_value(double value, std::size_t objective = 0) const;
  [[nodiscard]] const std::vector<Attribute>& attributes() const { return attributes_; }

 private:
  Trial& known(TrialNumber number);
  Trial& begin(TrialNumber number);
  void changed(const Trial& trial);
  void narrow_common(const Trial& trial);

  void on(const Opened&) {}
  void on(const ParameterDefined& event) { parameter(event.name, event.domain); }
  void on(const TrialEnqueued& event);
  void on(const TrialBegun& event);
  void on(const Suggested& event);
  void on(const Reported& event);
  void on(const Noted& event);
  void on(const Constrained& event);
  void on(const TrialFinished& event);
  void on(const StudyNoted& event);

  std::vector<std::uint8_t> maximise_;
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string, std::vector<ParameterId>> by_name_;
  std::vector<Trial> trials_;
  std::unordered_map<TrialNumber, std::uint32_t> by_number_;
  std::vector<std::uint32_t> changes_;
  std::vector<ParameterId> common_;
  std::vector<Attribute> attributes_;
  std::size_t finished_ = 0;
  std::size_t waiting_from_ = 0;  // no trial before this index waits
  TrialNumber next_number_ = 0;
};

}  // namespace longship::study
