// SPDX-License-Identifier: Apache-2.0
#include "lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "describe.h"
#include "requests.h"

namespace longship::hub {
namespace {

using Counts = std::array<std::uint64_t, job_state_names.size()>;

// Filters as numbers, so that a million jobs are looked at in milliseconds. State is apart: the counts are of
// what matches the others.
class Filter {
 public:
  Filter(const State& state, const ListJobs& list) : state_(state), text_(lower(list.text)) {
    kinds_.assign(state.kind_count(), true);
    for (KindId id = 0; id < state.kind_count(); ++id) {
      const auto& kind = state.kind(id);
      const auto same = [&](TextId text, const std::string& wanted) {
        return wanted.empty() || state.texts[text] == wanted;
      };
      kinds_[id] =
          same(kind.name, list.name) && same(kind.key.owner, list.owner) && same(kind.key.team, list.team);
    }
    if (!list.site.empty()) {
      site_ = state.find_site(list.site);
      by_site_ = true;
    }
    all_ = list.name.empty() && list.owner.empty() && list.site.empty() && list.text.empty() &&
           list.team.empty();
    if (text_.empty()) return;
    mentions_.assign(state.kind_count(), false);
    for (KindId id = 0; id < state.kind_count(); ++id) mentions_[id] = mentions(state.kind(id));
  }

  [[nodiscard]] bool everything() const { return all_; }
  [[nodiscard]] bool matches(const Job& job) const {
    if (!kinds_[job.kind]) return false;
    if (by_site_ && (job.attempts.empty() || job.attempts.back().site != site_)) return false;
    return text_.empty() || mentions_[job.kind] || contains(state_.id_of(job)) || elsewhere(job);
  }

 private:
  [[nodiscard]] bool contains(const std::string& text) const {
    return lower(text).find(text_) != std::string::npos;
  }
  [[nodiscard]] bool elsewhere(const Job& job) const {
    return contains(state_.texts[job.reason]) ||
           (!job.attempts.empty() && contains(state_.site(job.attempts.back().site).record.name));
  }
  [[nodiscard]] bool mentions(const Kind& kind) const {
    const auto& spec = state_.spec(kind.key.spec).job;
    const auto in = [&](const std::string& text) { return contains(text); };
    return in(spec.name) || in(spec.image) || in(state_.texts[kind.key.owner]) ||
           in(state_.texts[kind.key.team]) || std::any_of(spec.command.begin(), spec.command.end(), in);
  }

  const State& state_;
  std::string text_;
  std::vector<bool> kinds_, mentions_;
  SiteId site_ = none;
  bool by_site_ = false, all_ = true;
};

std::optional<JobState> wanted_state(const std::string& name) {
  if (name.empty()) return {};
  const auto found = std::find(job_state_names.begin(), job_state_names.end(), name);
  if (found == job_state_names.end()) {
    const std::vector<std::string> known(job_state_names.begin(), job_state_names.end());
    throw Refusal{400,
                  fmt::format("\"{}\" is no state of a job{}", printable(name), suggestion(name, known))};
  }
  return static_cast<JobState>(found - job_state_names.begin());
}

Counts count(const State& state, const Filter& filter) {
  Counts counts{};
  if (filter.everything())
    for (std::size_t at = 0; at < counts.size(); ++at) counts[at] = state.count(static_cast<JobState>(at));
  else
    for (JobIndex index = 0; index < state.job_count(); ++index)
      if (filter.matches(state.job(index))) ++counts[static_cast<std::size_t>(state.job(index).state)];
  return counts;
}

}  // namespace

formats::Table list_jobs(const State& state, const ListJobs& list, Moment now) {
  const auto wanted = wanted_state(list.state);
  const Filter filter(state, list);
  const auto counts = count(state, filter);
  const auto limit = static_cast<std::size_t>(std::clamp(list.limit, 0, 1000));
  auto index =
      list.before.empty() ? static_cast<JobIndex>(state.job_count()) : required_job(state, list.before);
  Describer describer(state, now);
  formats::Array jobs;
  while (index > 0 && jobs.size() < limit) {
    const auto& job = state.job(--index);
    if ((!wanted || job.state == *wanted) && filter.matches(job)) jobs.emplace_back(describer.job(index));
  }
  std::uint64_t total = 0;
  formats::Table by_state;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    if (!wanted || static_cast<JobState>(at) == *wanted) total += counts[at];
    by_state.set(std::string(job_state_names[at]), counts[at]);
  }
  formats::Table table;
  table.set("jobs", std::move(jobs));
  table.set("total", total);
  table.set("counts", std::move(by_state));
  return table;
}

}  // namespace longship::hub
