// SPDX-License-Identifier: Apache-2.0
#include "slurm.h"

#include <array>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "slurm_text.h"

namespace longship::batch {
namespace {

using std::chrono::seconds;

// Slurm's own patience with its controller is ten seconds and some tries; then something is wrong.
constexpr seconds patience_with_slurm{60};
constexpr seconds accounting_interval{60};
// Names on a command line; more than these are picked out of the whole list.
constexpr std::size_t most_names = 4000;

std::string by_name(std::span<const std::string> names) {
  return "--name=" + join(names, ",");
}

}  // namespace

std::string run_slurm(const std::vector<std::string>& words, std::string_view input) {
  Command command;
  command.arguments = words;
  command.environment = slurm_environment(current_environment());
  if (words[0] != "sbatch") command.environment->insert_or_assign("SLURM_TIME_FORMAT", "%s");
  RunOptions options;
  options.input = input;
  options.timeout = patience_with_slurm;
  return output_of(std::move(command), options);
}

Environment slurm_environment(Environment environment) {
  constexpr std::array<std::string_view, 8> dropped = {
      "SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SALLOC_", "SCANCEL_", "LONGSHIP_HUB", "LONGSHIP_TOKEN"};
  std::erase_if(environment, [&](const auto& variable) {
    const auto& name = variable.first;
    if (name == "SLURM_CONF" || name == "SLURM_CLUSTERS") return false;
    return std::any_of(dropped.begin(), dropped.end(), [&](auto prefix) { return name.starts_with(prefix); });
  });
  return environment;
}

Slurm::Slurm(RunCommand run, const Clock* clock)
    : run_(std::move(run)), clock_(clock != nullptr ? clock : &system_) {}

std::string Slurm::submit(const Pilot& pilot) {
  check(pilot);
  return within("slurm: pilot " + pilot.name, [&] {
    const auto answer = run_(sbatch_words(pilot), script_of(pilot));
    failpoint("batch.slurm.submitted");
    return ids_[pilot.name] = parse_sbatch(answer);
  });
}

Reports Slurm::report(std::span<const std::string> names) {
  if (names.empty()) return {};
  std::vector<std::string> squeue = {"squeue", "--me", "--states=all",
                                     "-h",     "-o",   std::string(squeue_format)};
  if (names.size() <= most_names) squeue.push_back(by_name(names));
  auto reports = within("slurm: squeue", [&] { return parse_squeue(run_(squeue, {}), names); });
  ask_accounting(reports);
  std::erase_if(ended_, [&](const auto& entry) { return !reports.contains(entry.first); });
  for (const auto& [name, report] : reports)
    if (!report.id.empty()) ids_[name] = report.id;
  return reports;
}

// What accounting does not know, or cannot say now, stays unknown: it is never an Error.
void Slurm::ask_accounting(Reports& reports) {
  std::vector<std::string> forgotten;
  for (auto& [name, report] : reports) {
    if (report.state != State::unknown) continue;
    if (const auto known = ended_.find(name); known != ended_.end())
      report = known->second;
    else
      forgotten.push_back(name);
    if (report.state == State::unknown && report.reason.empty()) report.reason = "squeue does not know it";
  }
  if (forgotten.empty() || !has_accounting_) return;
  if (asked_accounting_ && clock_->now() - *asked_accounting_ < accounting_interval) return;
  asked_accounting_ = clock_->now();
  if (forgotten.size() > most_names) forgotten.resize(most_names);
  try {
    // Without a start time it would look no further back than midnight.
    for (auto& [name, report] :
         parse_sacct(run_({"sacct", "-X", "-n", "-P", "--starttime=now-30days",
                           "--format=" + std::string(sacct_format), by_name(forgotten)},
                          {}),
                     forgotten)) {
      if (report.state == State::ended) ended_[name] = report;
      if (!report.id.empty()) reports[name] = std::move(report);
    }
  } catch (const Error& error) {
    const std::string_view said = error.what();
    if (said.find("is disabled") != std::string_view::npos || error.number() == ENOENT)
      has_accounting_ = false;
    for (const auto& name : forgotten)
      reports[name].reason = fmt::format("squeue does not know it; {}", said);
  }
}

void Slurm::cancel(const std::string& name) {
  within("slurm: pilot " + name, [&] {
    std::vector<std::string> words = {"scancel", "--me", "--name=" + name};
    // By number alone a job of another name could be hit; by name alone Slurm lists every job it has.
    if (const auto id = ids_.find(name); id != ids_.end()) words.push_back(id->second);
    try {
      (void)run_(words, {});
    } catch (const Error& error) {
      // It ended, and Slurm has forgotten it.
      if (std::string_view(error.what()).find("Invalid job id") == std::string_view::npos) throw;
    }
  });
}

}  // namespace longship::batch
