// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "broker.h"
#include "secrets.h"

namespace longship::hub {

using formats::Array;
using formats::Table;
using formats::Value;

Value seconds(Moment moment) {
  if (moment == Moment{}) return {};
  return std::chrono::floor<std::chrono::seconds>(moment).time_since_epoch().count();
}

namespace {

Value progress(const message::Metrics* metrics) {
  if (metrics == nullptr || (metrics->step == 0 && metrics->values.empty())) return {};
  Table table;
  table.set("step", metrics->step);
  table.set("steps", metrics->steps);
  Table values;
  for (const auto& [name, value] : metrics->values)
    values.set(name, std::isfinite(value) ? Value(value) : Value());  // JSON has no NaN
  table.set("values", std::move(values));
  return table;
}

const message::Metrics* metrics_of(const Job& job, const Live* live) {
  if (live != nullptr && (live->metrics.step > 0 || !live->metrics.values.empty())) return &live->metrics;
  if (job.committed != 0) return job.attempts[job.committed - 1].last.get();
  for (auto attempt = job.attempts.rbegin(); attempt != job.attempts.rend(); ++attempt)
    if (attempt->last) return attempt->last.get();
  return nullptr;
}

// The attempt that a job's line is about.
const Attempt* shown(const Job& job) {
  return job.committed != 0 ? &job.attempts[job.committed - 1] : job.newest();
}

Array lines(const std::string& nodes) {
  Array array;
  if (!nodes.empty())
    for (const auto& node : split(nodes, ' ')) array.emplace_back(node);
  return array;
}

}  // namespace

const Live* Describer::live(JobIndex index) const {
  const auto& job = state_.job(index);
  const auto* active = job.active();
  if (active == nullptr) return nullptr;
  const auto& site = state_.site(active->site);
  const auto found = site.live.find(index);
  return found == site.live.end() ? nullptr : &found->second;
}

std::string Describer::reason(JobIndex index) {
  const auto& job = state_.job(index);
  if (job.state == JobState::waiting) {
    const bool as_its_kind = job.attempts.empty();
    if (as_its_kind)
      if (const auto found = reasons_.find(job.kind); found != reasons_.end()) return found->second;
    auto text = why_waiting(state_, job, prospects(state_, job));
    return as_its_kind ? reasons_[job.kind] = std::move(text) : text;
  }
  const auto* active = job.active();
  if (active == nullptr) return state_.texts[job.reason];
  const auto& site = state_.site(active->site);
  if (!site.up)
    return fmt::format("site {} is silent{}{}: the job is left alone until it is heard of again",
                       site.record.name, site.condition.empty() ? "" : ", after it said: ", site.condition);
  const auto* now = live(index);
  switch (active->state) {
    case AttemptState::sent:
      return fmt::format("is on its way to site {}", site.record.name);
    case AttemptState::preparing:
      return fmt::format("its image, code and data are being brought to site {}", site.record.name);
    case AttemptState::queued:
      return now != nullptr && !now->waits_for.empty() ? now->waits_for : "waits in the site's batch system";
    case AttemptState::running:
    case AttemptState::ended:
      break;
  }
  return {};
}

Table Describer::job(JobIndex index) {
  const auto& job = state_.job(index);
  const auto& kind = state_.kind_of(job);
  const auto& spec = state_.spec_of(job).job;
  const auto* attempt = shown(job);
  const auto* now = live(index);
  const bool over = attempt != nullptr && attempt->state == AttemptState::ended;
  Table table;
  table.set("id", state_.id_of(job));
  table.set("name", spec.name);
  table.set("number", job.number);
  table.set("state", name_of(job.state));
  table.set("reason", reason(index));
  table.set("owner", state_.texts[kind.key.owner]);
  table.set("team", state_.texts[kind.key.team]);
  table.set("site",
            attempt != nullptr ? state_.site(attempt->site).record.name : state_.texts[kind.key.site]);
  table.set("queue", attempt != nullptr ? state_.texts[attempt->queue] : "");
  table.set("image", spec.image);
  table.set("nodes", spec.needs.nodes);
  table.set("ranks", job::ranks(spec.needs));
  table.set("submitted", seconds(job.submitted));
  table.set("started", seconds(attempt != nullptr ? attempt->started : Moment{}));
  table.set("ended", seconds(job.ended));
  table.set("attempt", attempt != nullptr ? attempt->number : 0);
  table.set("exit_code", over && attempt->gone ? Value(attempt->exit_code) : Value());
  table.set("progress", progress(metrics_of(job, now)));
  table.set("expected_start", now != nullptr && attempt->state != AttemptState::running
                                  ? seconds(now->expected_start)
                                  : Value());
  return table;
}

namespace {

// The name in an image's record: which of the variants went to the site.
std::string variant_of(const std::string& record) {
  if (record.empty()) return {};
  return store::image_from_json(formats::parse_json(record, "image")).name;
}

}  // namespace

Table Describer::attempt(const Job& job, const Attempt& attempt) const {
  Table table;
  table.set("number", attempt.number);
  table.set("site", state_.site(attempt.site).record.name);
  table.set("queue", state_.texts[attempt.queue]);
  table.set("state", name_of(attempt.state));
  table.set("outcome", attempt.result == Result::open ? Value() : Value(name_of(attempt.result)));
  table.set("reason", state_.texts[attempt.reason]);
  table.set("image", variant_of(state_.texts[attempt.image]));
  table.set("pilot", state_.texts[attempt.pilot]);
  table.set("batch_job", state_.texts[attempt.batch_job]);
  table.set("nodes", lines(state_.texts[attempt.nodes]));
  table.set("ranks", attempt.ranks > 0 ? attempt.ranks : job::ranks(state_.spec_of(job).job.needs));
  table.set("created", seconds(attempt.created));
  table.set("started", seconds(attempt.started));
  table.set("ended", seconds(attempt.ended));
  table.set("exit_code", attempt.gone ? Value(attempt.exit_code) : Value());
  Array outputs;
  if (attempt.outputs)
    for (const auto& output : *attempt.outputs) {
      Table one;
      one.set("name", output.name);
      one.set("size", output.size);
      outputs.emplace_back(std::move(one));
    }
  table.set("outputs", std::move(outputs));
  table.set("resumed", attempt.resume);
  return table;
}

Array Describer::events(JobIndex index, const std::vector<Note>& history) const {
  const auto& job = state_.job(index);
  std::vector<Note> all = history;
  for (const auto& note : state_.changes().notes)
    if (note.job == index) all.push_back(note);
  const auto add = [&](Moment at, int number, std::string what) {
    if (at != Moment{}) all.push_back({at, index, number, none, std::move(what)});
  };
  const auto& owner = state_.texts[state_.kind_of(job).key.owner];
  add(job.submitted, 0, owner.empty() ? "submitted" : fmt::format("submitted by {}", owner));
  for (const auto& attempt : job.attempts) {
    const auto& reason = state_.texts[attempt.reason];
    const auto& nodes = state_.texts[attempt.nodes];
    add(attempt.created, attempt.number,
        fmt::format("given to site {}, queue {}{}", state_.site(attempt.site).record.name,
                    state_.texts[attempt.queue], attempt.resume ? ", to go on from its checkpoint" : ""));
    add(attempt.started, attempt.number, nodes.empty() ? "started" : fmt::format("started on {}", nodes));
    add(attempt.ended, attempt.number,
        fmt::format("{}{}{}", name_of(attempt.result), reason.empty() ? "" : ": ", reason));
  }
  std::stable_sort(all.begin(), all.end(), [](const Note& a, const Note& b) { return a.at < b.at; });
  Array array;
  for (const auto& note : all) {
    Table one;
    one.set("at", seconds(note.at));
    one.set("what", note.what);
    one.set("attempt", note.attempt);
    array.emplace_back(std::move(one));
  }
  return array;
}

Table Describer::whole_job(JobIndex index, const std::vector<Note>& history) {
  const auto& job = state_.job(index);
  auto table = this->job(index);
  table.set("spec", formats::parse_json(state_.spec_of(job).json, "job"));
  const auto& key = state_.kind_of(job).key;
  Table code;
  code.set("digest", state_.texts[key.code]);
  code.set("size", key.code_size);
  table.set("code", key.code != 0 ? Value(std::move(code)) : Value());
  Array attempts;
  for (const auto& one : job.attempts) attempts.emplace_back(attempt(job, one));
  table.set("attempts", std::move(attempts));
  table.set("events", events(index, history));
  return table;
}

Table Describer::site(const Site& site) const {
  const auto* known = site.record.description.get();
  Table table;
  table.set("name", site.record.name);
  if (site.record.removed) {
    table.set("removed", true);
    return table;
  }
  table.set("state", site.up ? "up" : known != nullptr || site.ever ? "silent" : "never");
  table.set("since", seconds(site.since));
  table.set("condition", site.condition);
  table.set("batch", known != nullptr ? name_of(known->batch) : "");
  table.set("arch", known != nullptr ? known->node.arch : "");
  table.set("cores", known != nullptr ? known->node.cores : 0);
  table.set("memory", known != nullptr ? known->node.memory : 0);
  table.set("gpus", known != nullptr ? known->node.gpus : 0);
  Array queues;
  for (const auto& queue : known != nullptr ? known->queues : std::vector<site::Queue>{}) {
    const auto window = site.windows.find(state_.texts.find(queue.name).value_or(none));
    const auto counts = window == site.windows.end() ? Window{} : window->second;
    Table one;
    one.set("name", queue.name);
    one.set("max_nodes", queue.max_nodes);
    one.set("max_walltime", queue.max_walltime.count());
    one.set("waiting", counts.small + counts.large);
    one.set("running", counts.running);
    queues.emplace_back(std::move(one));
  }
  table.set("queues", std::move(queues));
  table.set("version", site.record.version);
  table.set("ssh", site.record.ssh);
  return table;
}

// A site file again, for `longship check`: nodes and software; who may use it, and who pays, stay here.
Table Describer::whole_site(const Site& site) const {
  auto table = this->site(site);
  const auto* known = site.record.description.get();
  if (site.record.removed || known == nullptr) return table;
  site::Site shown;
  shown.name = known->name;
  shown.spool = known->spool;
  shown.store = known->store;
  shown.engine = known->engine;
  shown.node = known->node;
  shown.host = known->host;
  table.set("file", site::to_toml(shown));
  return table;
}

Table Describer::token(const TokenRecord& token) const {
  Table table;
  table.set("id", token_id(token.hash));
  table.set("user", token.user);
  table.set("team", token.team);
  table.set("site", token.site);
  table.set("added", seconds(token.added));
  table.set("used", seconds(token.used));
  return table;
}

Table Describer::why(JobIndex index) {
  const auto& job = state_.job(index);
  Table table;
  table.set("job", state_.id_of(job));
  table.set("state", name_of(job.state));
  table.set("reason", reason(index));
  const auto* now = live(index);
  table.set("expected_start",
            now != nullptr && job.state == JobState::assigned ? seconds(now->expected_start) : Value());
  table.set("not_before", seconds(job.not_before));
  Array places;
  if (!is_over(job.state))
    for (const auto& prospect : prospects(state_, job)) {
      Table one;
      one.set("site", state_.site(prospect.site).record.name);
      one.set("queue", prospect.queue);
      one.set("fits", prospect.fits);
      one.set("reason", prospect.reason);
      one.set("image", prospect.image);
      places.emplace_back(std::move(one));
    }
  table.set("places", std::move(places));
  return table;
}

}  // namespace longship::hub
