// SPDX-License-Identifier: Apache-2.0
// All that the hub knows, in memory. Rows are changed only through edit…(), which keeps three things right:
//
// - the indexes: jobs by id, lines of waiting jobs, attempts at each site, counts;
// - the list of rows that the store has to write;
// - a copy of each as it was, so that a transaction that failed (a full disk) is as if nothing had happened.
//
// What is in no row (links, heartbeats, latest metrics) is not stored: after a restart every site is silent
// until its agent is back.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "request.h"
#include "rows.h"
#include "store/image.h"

namespace longship::hub {

// What is known of an attempt only while it goes on.
struct Live {
  int attempt = 0;
  Moment heard{};  // its lease was renewed
  Moment sent{};   // the agent was told to carry it
  message::Metrics metrics;
  std::string waits_for;  // the batch system's words
  Moment expected_start{};
};

// Attempts of a queue that do not run yet, by size of their job, and those that run.
struct Window {
  std::uint32_t small = 0, large = 0, running = 0;
};

struct Site {
  SiteRecord record;
  LinkId link = 0;    // 0: not connected
  Moment heard{};     // the last frame
  Moment since{};     // when it became up or silent
  bool up = false;    // connected, and heard of within the last 30 seconds
  bool ever = false;  // connected since the hub started
  std::string condition;
  std::map<JobIndex, Live> live;  // jobs whose lease is here
  std::map<TextId, Window> windows;
  std::set<std::pair<JobIndex, int>> discards;  // directories to be thrown away there
  int ignored = 0;                              // messages that made no sense
  bool stirred = false;                         // whoever listens is to be told
};

struct Place {
  SiteId site = none;
  TextId queue = 0;
  TextId image = 0;
  std::uint32_t max_queued = 0;
};

struct Kind {
  KindKey key;
  TextId name = 0;  // of its jobs
  bool small = false;
  // Waiting jobs, oldest first. `fresh` also holds some that do not wait any more.
  std::deque<JobIndex> fresh;
  std::set<JobIndex> again;
  JobIndex listed = none;  // the head under which it is among its owner's candidates
  // Where it fits, as of a version of sites and images.
  std::uint64_t fits_version = 0;
  std::vector<Place> fits;
};

// Something to be placed: a kind by its oldest job, or one job with wishes of its own.
struct Candidate {
  JobIndex head = none;
  KindId kind = none;  // none: the job `head` alone
  [[nodiscard]] auto operator<=>(const Candidate&) const = default;
};
struct Line {  // of one owner
  std::set<Candidate> candidates;
  Candidate cursor{0, 0};  // the broker looked at everything before
};

struct Question {  // to an agent, for a request
  std::uint64_t request = 0;
  LinkId link = 0;
  Moment until{};
  message::Question asked;
  std::string name;      // of the attempt, for sentences
  bool measure = false;  // the size comes first: "the last 4096 bytes"
};

struct Changes {
  std::vector<Submission> submissions;
  std::unordered_map<JobIndex, Job> jobs;                    // as they were
  std::map<SiteId, SiteRecord> sites;                        // as they were
  std::map<std::string, std::optional<TokenRecord>> tokens;  // by hash, as they were; nothing: new ones
  std::vector<Note> notes;
  std::size_t job_count = 0, site_count = 0;  // before
  [[nodiscard]] bool empty() const {
    return submissions.empty() && jobs.empty() && sites.empty() && tokens.empty() && notes.empty();
  }
};

class State {
 public:
  Texts texts;

  // --- jobs ---
  [[nodiscard]] std::size_t job_count() const { return jobs_.size(); }
  [[nodiscard]] const Job& job(JobIndex index) const { return jobs_[index]; }
  [[nodiscard]] const Spec& spec_of(const Job& job) const { return *specs_[kinds_[job.kind].key.spec]; }
  [[nodiscard]] const Kind& kind_of(const Job& job) const { return kinds_[job.kind]; }
  [[nodiscard]] JobIndex find_job(std::string_view id) const;  // none
  [[nodiscard]] std::string id_of(const Job& job) const;
  [[nodiscard]] message::AttemptId id_of(const Job& job, const Attempt& attempt) const;
  [[nodiscard]] std::uint64_t count(JobState state) const { return counts_[static_cast<std::size_t>(state)]; }
  template <class Change>
  void edit(JobIndex index, Change&& change) {
    begin_edit(index);
    std::forward<Change>(change)(jobs_[index]);
    end_edit(index);
  }

  // --- submissions ---
  KindId intern_kind(const KindKey& key);
  std::uint32_t intern_spec(const std::shared_ptr<const Spec>& spec);
  struct Range {
    JobIndex first = none;
    std::uint32_t count = 0;  // 0: no such key
  };
  [[nodiscard]] Range submitted_with(const std::string& key) const;
  Range submit(KindId kind, std::uint32_t count, Moment at, std::string key);

  // --- sites ---
  [[nodiscard]] std::span<Site> sites() { return sites_; }
  [[nodiscard]] std::span<const Site> sites() const { return sites_; }
  [[nodiscard]] Site& site(SiteId id) { return sites_[id]; }  // what is not in its record may be changed
  [[nodiscard]] const Site& site(SiteId id) const { return sites_[id]; }
  [[nodiscard]] SiteId find_site(std::string_view name) const;  // none; also those removed
  SiteId add_site(std::string_view name, Moment at);
  SiteRecord& edit_site(SiteId id);

  // --- tokens and notes ---
  [[nodiscard]] const std::map<std::string, TokenRecord>& tokens() const { return tokens_; }
  [[nodiscard]] const TokenRecord* find_token(std::string_view id) const;  // by token_id(); null
  void put_token(TokenRecord token);                                       // a new one, or changed
  void revoke_token(const std::string& hash);
  void revoke_tokens_of(std::string_view site);
  void note(Note note) { changes_.notes.push_back(std::move(note)); }

  // --- for the broker ---
  [[nodiscard]] std::map<TextId, Line>& lines() { return lines_; }  // by owner
  [[nodiscard]] Kind& kind(KindId id) { return kinds_[id]; }
  [[nodiscard]] const Kind& kind(KindId id) const { return kinds_[id]; }
  [[nodiscard]] std::size_t kind_count() const { return kinds_.size(); }
  [[nodiscard]] const Spec& spec(std::uint32_t id) const { return *specs_[id]; }
  [[nodiscard]] std::size_t spec_count() const { return specs_.size(); }
  [[nodiscard]] const std::set<std::pair<Moment, JobIndex>>& delayed() const { return delayed_; }
  bool place_wanted = false;  // something changed that may let a waiting job go
  std::uint64_t world = 1;    // grows with every change of sites or images
  std::vector<store::Image> images;
  TextId next_owner = 0;  // whose turn it is

  // --- agents ---
  struct Link {
    Caller caller;
    SiteId site = none;  // before Hello
  };
  std::map<LinkId, Link> links;
  std::map<std::uint64_t, Question> questions;
  std::uint64_t last_question = 0;
  Moment last_tick{};
  std::set<JobIndex> stirred;  // jobs of which something changed that is in no row: their metrics
  std::string owner;           // the person whose hub it is

  // --- for the store ---
  [[nodiscard]] const Changes& changes() const { return changes_; }
  void committed();  // the changes are durable
  void roll_back();  // as if they had not been
  // At the start, in this order.
  void restore_spec(std::shared_ptr<const Spec> spec) { (void)intern_spec(spec); }
  void restore_kind(const KindKey& key) { (void)intern_kind(key); }
  void restore_site(SiteRecord record);
  void restore_token(TokenRecord token) { tokens_.insert_or_assign(token.hash, std::move(token)); }
  void restore(const Submission& submission);
  void restore(JobIndex index, Job job);        // changed since it was submitted
  void restore(JobIndex job, Attempt attempt);  // after its job, in the order of numbers
  void restored();                              // builds the indexes

 private:
  friend std::vector<std::string> invariants(const State& state);
  void create_jobs(const Submission& submission);
  void forget(const Submission& submission);
  void begin_edit(JobIndex index);
  void end_edit(JobIndex index);
  void index(JobIndex index);
  void unindex(JobIndex index);
  void line_up(JobIndex index);
  void leave_line(JobIndex index);
  void relist(KindId id);
  [[nodiscard]] bool in_kinds_line(const Job& job) const;
  [[nodiscard]] bool has_own_wishes(const Job& job) const;

  std::deque<Job> jobs_;
  std::vector<std::shared_ptr<const Spec>> specs_;
  std::unordered_map<std::string, std::uint32_t> specs_by_digest_;
  std::deque<Kind> kinds_;
  std::map<KindKey, KindId> kinds_by_key_;
  std::unordered_map<TextId, std::vector<JobIndex>> by_name_;  // [number - 1]
  std::unordered_map<std::string, Range> keys_;
  std::vector<Site> sites_;
  std::map<std::string, TokenRecord> tokens_;
  std::array<std::uint64_t, job_state_names.size()> counts_{};
  std::map<TextId, Line> lines_;
  std::set<std::pair<Moment, JobIndex>> delayed_;
  Changes changes_;
};

}  // namespace longship::hub
