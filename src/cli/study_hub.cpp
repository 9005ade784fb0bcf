// SPDX-License-Identifier: Apache-2.0
#include "study_hub.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "bring.h"
#include "formats/digest.h"
#include "net/address.h"
#include "sweep/fill.h"
#include "sweep/metrics.h"

namespace longship::cli {
namespace {

constexpr int longest_list = 1000;
constexpr int most_points = 100'000;

double value_at(const formats::Value& values, const std::string& name) {
  const auto* found = values.find(name);
  return found == nullptr || found->is(formats::Kind::null) ? NAN : found->number();
}

double node_seconds(const formats::Value& job, int nodes) {
  double sum = 0;
  for (const auto& attempt : list_at(job, "attempts")) {
    const auto started = number_at(attempt, "started"), ended = number_at(attempt, "ended");
    if (started > 0 && ended > started) sum += static_cast<double>(ended - started) * nodes;
  }
  return sum;
}

}  // namespace

TrialsAtHub::TrialsAtHub(HubClient& hub, const sweep::StudyFile& file, std::string identity,
                         std::function<void()> before)
    : hub_(hub), file_(file), identity_(std::move(identity)), before_(std::move(before)) {
  if (file.job.empty())
    throw Error(Failure::usage,
                "the study {} has a command, which runs only here: the hub takes jobs, job = \"job.toml\"",
                file.name);
  if (file.population.size > 0)
    throw Error(
        Failure::usage,
        "the members of a population go on from each other's checkpoints, which the hub does not carry "
        "from site to site: run {} here, or in an allocation, without --submit",
        file.name);
  job_ = job::load(file.job);
  for (const auto& sentence : job::not_done_yet(job_)) warn("{}", sentence);
  sweep::check_placeholders(file, job_.command, job_.environment);
  bring_images(hub_, job_);
  code_ = bring_code(hub_, job_);
}

std::string TrialsAtHub::start(const sweep::Start& start) {
  auto id = start.known_as;
  if (id.empty()) {
    before_();
    auto job = sweep::fill(file_, job_, start);
    job.name = file_.name;
    formats::Table body;
    body.set("job", formats::parse_json(job::to_json(job), "job"));
    body.set("code", code_);
    body.set("count", 1);
    const auto key = formats::digest_of(
        fmt::format("{} {} {} {}", identity_, start.trial, start.attempt, formats::dump_json(body)));
    const auto answer = hub_.post("/v1/jobs", formats::Value(body), "study-" + key.substr(key.find(':') + 1));
    if (list_at(answer, "jobs").empty()) throw Error("the hub took the job but did not name it");
    id = list_at(answer, "jobs").front().text();
  }
  trials_[id] = {start.trial, -1};
  jobs_[start.trial] = id;
  return id;
}

void TrialsAtHub::stop(study::TrialNumber trial) {
  const auto found = jobs_.find(trial);
  if (found == jobs_.end()) return;
  try {
    hub_.post(job_path(found->second, "/cancel"));
  } catch (const net::Unreachable&) {
    throw;
  } catch (const Error& error) {
    explain("{} was over before it could be stopped: {}", found->second, error.what());
  }
}

std::vector<sweep::Heard> TrialsAtHub::listen(std::chrono::milliseconds) {
  if (trials_.empty()) return {};
  // One question for the newest, which are mostly all; the others one by one.
  std::set<std::string> open;
  for (const auto& [id, seen] : trials_) open.insert(id);
  const auto answer =
      hub_.get(fmt::format("/v1/jobs?limit={}&name={}", longest_list, net::percent_encode(file_.name)));
  for (const auto& job : list_at(answer, "jobs"))
    if (open.erase(text_at(job, "id")) > 0) look_at(job);
  for (const auto& id : open) look_for(id);
  return std::exchange(heard_, {});
}

void TrialsAtHub::look_for(const std::string& id) {
  const net::Call asked{.path = job_path(id)};
  const auto answer = hub_.call(asked);
  if (answer.status != 404) {
    look_at(hub_.get(asked.path));
    return;
  }
  const auto trial = trials_.at(id).trial;
  heard_.emplace_back(
      sweep::Ended{trial, sweep::Ending::lost, {}, "the hub does not know " + id + " any more", 0});
  trials_.erase(id);
  jobs_.erase(trial);
}

void TrialsAtHub::look_at(const formats::Value& job) {
  const auto id = text_at(job, "id");
  const auto found = trials_.find(id);
  if (found == trials_.end()) return;
  auto& seen = found->second;
  if (is_over(text_at(job, "state"))) {
    look_at_end(id, seen.trial);
    return;
  }
  const auto* progress = job.find("progress");
  const auto* values = progress != nullptr ? progress->find("values") : nullptr;
  const auto& metric = file_.objectives.front().metric;
  if (values == nullptr || values->find(metric) == nullptr) return;
  const auto step = number_at(*progress, "step");
  if (step == seen.step) return;
  seen.step = step;
  heard_.emplace_back(sweep::Progress{seen.trial, step, value_at(*values, metric)});
}

void TrialsAtHub::look_at_end(const std::string& id, study::TrialNumber trial) {
  const auto job = hub_.get(job_path(id));
  auto ended = judge(job, trial);
  add_curve(id, trial);
  heard_.emplace_back(std::move(ended));
  trials_.erase(id);
  jobs_.erase(trial);
}

void TrialsAtHub::add_curve(const std::string& id, study::TrialNumber trial) {
  formats::Value curves;
  try {
    curves = hub_.get(job_path(id, fmt::format("/metrics?points={}", most_points)));
  } catch (const net::Unreachable&) {
    throw;
  } catch (const Error& error) {
    explain("no curves of {}: {}", id, error.what());
  }
  for (const auto& series : list_at(curves, "series"))
    if (text_at(series, "name") == file_.objectives.front().metric)
      for (const auto& point : list_at(series, "points"))
        if (point.array().size() == 3 && !point.array()[2].is(formats::Kind::null))
          heard_.emplace_back(sweep::Progress{trial, point.array()[0].integer(), point.array()[2].number()});
}

sweep::Ended TrialsAtHub::judge(const formats::Value& job, study::TrialNumber trial) {
  const auto id = text_at(job, "id"), state = text_at(job, "state"), reason = text_at(job, "reason");
  sweep::Ended ended{trial, sweep::Ending::finished, {}, "", node_seconds(job, job_.needs.nodes)};
  if (state != "finished") {
    ended.ending = state == "cancelled" ? sweep::Ending::cancelled : sweep::Ending::failed;
    ended.reason = fmt::format("{} {}{}{}", id, state, reason.empty() ? "" : ": ", reason);
    return ended;
  }
  std::map<std::string, double> reported;
  const auto* progress = job.find("progress");
  const auto* values = progress != nullptr ? progress->find("values") : nullptr;
  if (values != nullptr && values->is(formats::Kind::table))
    for (const auto& entry : values->table()) reported[entry.key] = value_at(*values, entry.key);
  auto measured =
      sweep::measured(file_.objectives, reported, [&](const std::string& name) { return file_of(id, name); });
  ended.values = std::move(measured.values);
  if (!measured.problem.empty()) ended.reason = id + ": " + measured.problem;
  return ended;
}

std::optional<std::string> TrialsAtHub::file_of(const std::string& id, const std::string& name) {
  const auto answer = hub_.call({.path = job_path(id, "/files/" + net::percent_encode(name, true))});
  if (answer.ok()) return answer.body;
  if (answer.status >= 500)  // what cannot be had now must not count as if the trial had left nothing
    throw net::Unreachable("the file {} of {} does not come: the hub answers {}", name, id, answer.status);
  return {};
}

}  // namespace longship::cli
