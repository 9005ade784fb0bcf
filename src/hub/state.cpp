// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <algorithm>
#include <charconv>

#include "secrets.h"

namespace longship::hub {

// --- jobs ---

JobIndex State::find_job(std::string_view id) const {
  const auto dash = id.rfind('-');
  if (dash == std::string_view::npos) return none;
  const auto digits = id.substr(dash + 1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.starts_with('0')) return none;
  const auto name = texts.find(id.substr(0, dash));
  if (!name) return none;
  const auto found = by_name_.find(*name);
  if (found == by_name_.end() || number == 0 || number > found->second.size()) return none;
  return found->second[number - 1];
}

std::string State::id_of(const Job& job) const {
  std::string id = texts[kinds_[job.kind].name];
  id += '-';
  id += std::to_string(job.number);
  return id;
}

message::AttemptId State::id_of(const Job& job, const Attempt& attempt) const {
  return {id_of(job), attempt.number};
}

void State::begin_edit(JobIndex index) {
  changes_.jobs.try_emplace(index, jobs_[index]);
  unindex(index);
}

void State::end_edit(JobIndex index) {
  this->index(index);
}

// --- submissions ---

std::uint32_t State::intern_spec(const std::shared_ptr<const Spec>& spec) {
  const auto [found, fresh] =
      specs_by_digest_.try_emplace(spec->digest, static_cast<std::uint32_t>(specs_.size()));
  if (fresh) specs_.push_back(spec);
  return found->second;
}

namespace {
// Small jobs may be sent to a site by the thousand, so that its pilots never wait for the hub.
bool is_small(const job::Needs& needs) {
  return needs.nodes == 1 && needs.walltime <= std::chrono::hours(1);
}
}  // namespace

KindId State::intern_kind(const KindKey& key) {
  const auto [found, fresh] = kinds_by_key_.try_emplace(key, static_cast<KindId>(kinds_.size()));
  if (fresh) {
    auto& kind = kinds_.emplace_back();
    kind.key = key;
    kind.name = texts.id(specs_[key.spec]->job.name);
    kind.small = is_small(specs_[key.spec]->job.needs);
  }
  return found->second;
}

State::Range State::submitted_with(const std::string& key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? Range{} : found->second;
}

State::Range State::submit(KindId kind, std::uint32_t count, Moment at, std::string key) {
  const auto number = static_cast<std::uint32_t>(by_name_[kinds_[kind].name].size()) + 1;
  const auto first = static_cast<JobIndex>(jobs_.size());
  const auto& submission =
      changes_.submissions.emplace_back(Submission{first, number, count, kind, at, std::move(key)});
  create_jobs(submission);
  for (auto index = first; index < first + count; ++index) line_up(index);
  counts_[static_cast<std::size_t>(JobState::waiting)] += count;
  relist(kind);
  place_wanted = true;
  return {first, count};
}

void State::create_jobs(const Submission& submission) {
  auto& numbers = by_name_[kinds_[submission.kind].name];
  for (std::uint32_t n = 0; n < submission.count; ++n) {
    auto& job = jobs_.emplace_back();
    job.kind = submission.kind;
    job.number = submission.number + n;
    job.submitted = submission.at;
    numbers.push_back(submission.first + n);
  }
  if (!submission.key.empty())
    keys_.insert_or_assign(submission.key, Range{submission.first, submission.count});
}

// --- sites, tokens ---

SiteId State::find_site(std::string_view name) const {
  for (SiteId id = 0; id < sites_.size(); ++id)
    if (sites_[id].record.name == name) return id;
  return none;
}

SiteId State::add_site(std::string_view name, Moment at) {
  auto id = find_site(name);
  if (id == none) {
    id = static_cast<SiteId>(sites_.size());
    auto& fresh = sites_.emplace_back();
    fresh.record.name = name;
    fresh.record.removed = true;
    fresh.since = at;
  }
  auto& record = edit_site(id);
  record.removed = false;
  record.added = at;
  ++world;
  return id;
}

SiteRecord& State::edit_site(SiteId id) {
  changes_.sites.try_emplace(id, sites_[id].record);
  return sites_[id].record;
}

const TokenRecord* State::find_token(std::string_view id) const {
  const auto found = tokens_.lower_bound(std::string(id));
  return found != tokens_.end() && token_id(found->first) == id ? &found->second : nullptr;
}

void State::put_token(TokenRecord token) {
  const auto found = tokens_.find(token.hash);
  changes_.tokens.try_emplace(token.hash,
                              found == tokens_.end() ? std::nullopt : std::optional(found->second));
  tokens_.insert_or_assign(token.hash, std::move(token));
}

void State::revoke_token(const std::string& hash) {
  const auto found = tokens_.find(hash);
  changes_.tokens.try_emplace(hash, found->second);
  tokens_.erase(found);
}

void State::revoke_tokens_of(std::string_view site) {
  std::vector<std::string> hashes;
  for (const auto& [hash, token] : tokens_)
    if (token.site == site) hashes.push_back(hash);
  for (const auto& hash : hashes) revoke_token(hash);
}

// --- indexes ---

void State::index(JobIndex index) {
  const auto& job = jobs_[index];
  ++counts_[static_cast<std::size_t>(job.state)];
  if (job.state == JobState::waiting) {
    line_up(index);
    place_wanted = true;
  }
  relist(job.kind);
  const auto* active = job.active();
  for (const auto& attempt : job.attempts) {
    auto& site = sites_[attempt.site];
    if (attempt.discard == Discard::due) site.discards.emplace(index, attempt.number);
    if (&attempt == active) {
      site.stirred = true;
      auto& window = site.windows[attempt.queue];
      ++(attempt.state == AttemptState::running ? window.running
         : kinds_[job.kind].small               ? window.small
                                                : window.large);
      auto& live = site.live[index];
      if (live.attempt != attempt.number) {
        live = {};
        live.attempt = attempt.number;
      }
    } else if (const auto found = site.live.find(index); found != site.live.end()) {
      if (active == nullptr || active->site != attempt.site) site.live.erase(found);
    }
  }
}

void State::unindex(JobIndex index) {
  const auto& job = jobs_[index];
  --counts_[static_cast<std::size_t>(job.state)];
  if (job.state == JobState::waiting) leave_line(index);
  for (const auto& attempt : job.attempts)
    if (attempt.discard == Discard::due) sites_[attempt.site].discards.erase({index, attempt.number});
  if (const auto* active = job.active()) {
    sites_[active->site].stirred = true;
    auto& window = sites_[active->site].windows[active->queue];
    --(active->state == AttemptState::running ? window.running
       : kinds_[job.kind].small               ? window.small
                                              : window.large);
    place_wanted = true;
  }
}

bool State::has_own_wishes(const Job& job) const {
  return job.resume_at != none ||
         std::any_of(job.attempts.begin(), job.attempts.end(),
                     [](const auto& attempt) { return attempt.result == Result::refused; });
}

bool State::in_kinds_line(const Job& job) const {
  return job.state == JobState::waiting && job.not_before == Moment{} && !has_own_wishes(job);
}

void State::line_up(JobIndex index) {
  const auto& job = jobs_[index];
  if (job.not_before != Moment{}) {
    delayed_.emplace(job.not_before, index);
  } else if (has_own_wishes(job)) {
    lines_[kinds_[job.kind].key.owner].candidates.insert({index, none});
  } else {
    auto& kind = kinds_[job.kind];
    if (kind.fresh.empty() || kind.fresh.back() < index)
      kind.fresh.push_back(index);
    else
      kind.again.insert(index);
  }
}

void State::leave_line(JobIndex index) {
  const auto& job = jobs_[index];
  auto& kind = kinds_[job.kind];
  if (job.not_before != Moment{})
    delayed_.erase({job.not_before, index});
  else if (has_own_wishes(job))
    lines_[kind.key.owner].candidates.erase({index, none});
  else
    kind.again.erase(index);  // and if it is in `fresh`, relist() will find that it does not wait
}

void State::relist(KindId id) {
  auto& kind = kinds_[id];
  while (!kind.fresh.empty() && !in_kinds_line(jobs_[kind.fresh.front()])) kind.fresh.pop_front();
  auto head = kind.fresh.empty() ? none : kind.fresh.front();
  if (!kind.again.empty()) head = std::min(head, *kind.again.begin());
  if (head == kind.listed) return;
  auto& candidates = lines_[kind.key.owner].candidates;
  if (kind.listed != none) candidates.erase({kind.listed, id});
  if (head != none) candidates.insert({head, id});
  kind.listed = head;
}

// --- for the store ---

void State::committed() {
  changes_ = {};
  changes_.job_count = jobs_.size();
  changes_.site_count = sites_.size();
}

void State::roll_back() {
  auto undone = std::exchange(changes_, {});
  changes_.job_count = undone.job_count;
  changes_.site_count = undone.site_count;
  for (auto& [index, before] : undone.jobs) {
    unindex(index);
    for (const auto& attempt : jobs_[index].attempts) sites_[attempt.site].live.erase(index);
    jobs_[index] = std::move(before);
    this->index(index);
  }
  for (auto last = undone.submissions.rbegin(); last != undone.submissions.rend(); ++last) forget(*last);
  for (auto& [id, record] : undone.sites) sites_[id].record = std::move(record);
  sites_.resize(undone.site_count);
  for (auto& [hash, before] : undone.tokens) {
    if (before)
      tokens_.insert_or_assign(hash, std::move(*before));
    else
      tokens_.erase(hash);
  }
  ++world;
}

// Its rows are as they were when it came: all of its jobs wait.
void State::forget(const Submission& submission) {
  auto& kind = kinds_[submission.kind];
  while (!kind.fresh.empty() && kind.fresh.back() >= submission.first) kind.fresh.pop_back();
  kind.again.erase(kind.again.lower_bound(submission.first), kind.again.end());
  relist(submission.kind);
  auto& numbers = by_name_[kind.name];
  numbers.resize(submission.number - 1);
  jobs_.resize(submission.first);
  counts_[static_cast<std::size_t>(JobState::waiting)] -= submission.count;
  if (!submission.key.empty()) keys_.erase(submission.key);
}

void State::restore_site(SiteRecord record) {
  sites_.emplace_back().record = std::move(record);
}

void State::restore(const Submission& submission) {
  create_jobs(submission);
}

void State::restore(JobIndex index, Job job) {
  auto& row = jobs_.at(index);
  job.kind = row.kind;
  job.number = row.number;
  job.submitted = row.submitted;
  row = std::move(job);
}

void State::restore(JobIndex job, Attempt attempt) {
  jobs_.at(job).attempts.push_back(std::move(attempt));
}

void State::restored() {
  for (JobIndex index = 0; index < jobs_.size(); ++index) this->index(index);
  committed();
}

}  // namespace longship::hub
