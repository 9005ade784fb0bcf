// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "prepare.h"
#include "study/importance.h"
#include "study/pareto.h"
#include "turns.h"

namespace longship::sweep {
namespace {

using formats::Array;
using formats::Table;
using formats::Value;
using study::History;
using study::Trial;

Value number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

Array numbers(const std::vector<double>& values) {
  Array array;
  for (const double value : values) array.push_back(number(value));
  return array;
}

Table counts(const History& history) {
  std::map<study::TrialState, std::int64_t> found;
  for (const auto& trial : history.trials())
    if (find_remark(trial.attributes, remark::rejected) == nullptr) ++found[trial.state];
  Table table;
  for (const auto state : {study::TrialState::complete, study::TrialState::pruned, study::TrialState::failed,
                           study::TrialState::running, study::TrialState::waiting})
    table.set(std::string(study::name_of(state)), found[state]);
  return table;
}

// The last domain of each name: ranges may have changed.
std::vector<study::ParameterId> parameters_of(const History& history) {
  std::vector<std::string> names;
  std::map<std::string, study::ParameterId> latest;
  for (study::ParameterId id = 0; id < history.parameter_count(); ++id) {
    const auto& name = history.parameter(id).name;
    if (!latest.contains(name)) names.push_back(name);
    latest[name] = id;
  }
  std::vector<study::ParameterId> ids;
  for (const auto& name : names) ids.push_back(latest[name]);
  return ids;
}

Array parameters_json(const History& history) {
  Array array;
  for (const auto id : parameters_of(history)) {
    const auto& [name, domain, axis] = history.parameter(id);
    Table table;
    table.set("name", name);
    table.set("kind", domain.kind == study::Kind::real      ? "float"
                      : domain.kind == study::Kind::integer ? "int"
                                                            : "category");
    if (domain.kind == study::Kind::category) {
      Array choices;
      for (std::size_t i = 0; i < domain.choices.size(); ++i)
        choices.push_back(value_of(domain, static_cast<double>(i)));
      table.set("choices", std::move(choices));
    } else {
      table.set("low", domain.low);
      table.set("high", domain.high);
      if (domain.step > 0) table.set("step", domain.step);
      table.set("log", domain.log);
    }
    array.emplace_back(std::move(table));
  }
  return array;
}

Array importance_json(const History& history) {
  Array array;
  for (std::size_t objective = 0; objective < history.objectives(); ++objective) {
    Table shares;
    for (const auto& [name, share] : study::importance(history, objective)) shares.set(name, share);
    array.emplace_back(std::move(shares));
  }
  return array;
}

// What Study.set_metric_names() of Python has noted.
std::vector<std::string> metric_names(const History& history) {
  const auto* json = find_remark(history.attributes(), remark::metric_names);
  if (json == nullptr) return {};
  const auto list = formats::parse_json(*json, "the names of the metrics");
  std::vector<std::string> names;
  for (const auto& name : list.array()) names.push_back(plain_text(name));
  return names;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

}  // namespace

std::vector<Objective> objectives_of(const History& history, const StudyFile* file) {
  if (file != nullptr) return file->objectives;
  const auto names = metric_names(history);
  std::vector<Objective> objectives;
  for (std::size_t i = 0; i < history.objectives(); ++i) {
    auto name = history.objectives() == 1 ? "value" : fmt::format("value {}", i + 1);
    objectives.push_back({i < names.size() ? names[i] : std::move(name), history.maximise()[i] != 0, ""});
  }
  return objectives;
}

Table trial_json(const History& history, const Trial& trial) {
  Table table;
  table.set("number", trial.number);
  table.set("state", study::name_of(trial.state));
  table.set("values", numbers(trial.values));
  table.set("params", values_of(history, trial));
  Array reports;
  for (const auto& [step, value] : trial.reports) reports.emplace_back(Array{step, number(value)});
  table.set("reports", std::move(reports));
  table.set("begun", trial.begun);
  table.set("ended", trial.ended);
  constexpr std::array<std::pair<const char*, const char*>, 4> notes = {{{"job", remark::known_as},
                                                                         {"reason", remark::reason},
                                                                         {"rejected", remark::rejected},
                                                                         {"from", remark::taken_from}}};
  for (const auto& [key, remark] : notes)
    if (auto text = remark_text(trial.attributes, remark); !text.empty()) table.set(key, std::move(text));
  if (const auto parent = parent_of(trial)) table.set("parent", *parent);
  return table;
}

Table summary_json(const study::Study& study, const StudyFile* file) {
  const auto& history = study.history();
  Table table;
  table.set("name", study.name());
  Array objectives;
  for (const auto& objective : objectives_of(history, file)) {
    Table one;
    one.set("metric", objective.metric);
    one.set("direction", objective.maximise ? "maximize" : "minimize");
    objectives.emplace_back(std::move(one));
  }
  table.set("objectives", std::move(objectives));
  table.set("counts", counts(history));
  Array best;
  for (const auto number : study::best_trials(history))
    best.emplace_back(trial_json(history, history.trial(number)));
  table.set("best", std::move(best));
  return table;
}

Table study_json(const study::Study& study, const StudyFile* file) {
  auto table = summary_json(study, file);
  table.set("parameters", parameters_json(study.history()));
  table.set("importance", importance_json(study.history()));
  Array trials;
  for (const auto& trial : study.history().trials()) trials.emplace_back(trial_json(study.history(), trial));
  table.set("trials", std::move(trials));
  return table;
}

std::string study_csv(const study::Study& study, const StudyFile* file) {
  const auto& history = study.history();
  std::vector<std::string> names;
  std::string text = "trial,state";
  for (const auto& objective : objectives_of(history, file)) text += "," + csv_cell(objective.metric);
  for (const auto id : parameters_of(history)) {
    names.push_back(history.parameter(id).name);
    text += "," + csv_cell(names.back());
  }
  text += ",begun,ended,job,reason\n";
  for (const auto& trial : history.trials()) {
    text += fmt::format("{},{}", trial.number, study::name_of(trial.state));
    for (std::size_t i = 0; i < history.objectives(); ++i)
      text += "," + (i < trial.values.size() ? fmt::format("{}", trial.values[i]) : std::string());
    const auto values = values_of(history, trial);
    for (const auto& name : names) {
      const auto* value = values.find(name);
      text += "," + (value != nullptr ? csv_cell(plain_text(*value)) : std::string());
    }
    text += fmt::format(",{:.3f},{:.3f},{},{}\n", trial.begun, trial.ended,
                        csv_cell(remark_text(trial.attributes, remark::known_as)),
                        csv_cell(remark_text(trial.attributes, remark::reason)));
  }
  return text;
}

}  // namespace longship::sweep
