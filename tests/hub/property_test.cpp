// SPDX-License-Identifier: Apache-2.0
// Random days: people submit and change their minds, agents come, go, lose their spools, and say things
// twice, late or about others' jobs; the hub dies at any moment and reads its store again. After each step
// all invariants hold, and in the end: every job was committed at most once, and for good; none was lost;
// epochs only grew; no attempt was given out twice after it had ended; leases of silent sites were frozen.
#include <algorithm>
#include <random>
#include <set>

#include "base/file.h"
#include "hub/store.h"
#include "world.h"

namespace longship::hub {
namespace {

using message::AttemptId;
using message::Outcome;

// An agent and its pilots, as far as the hub can tell.
struct Agent {
  std::string site;
  std::string outbox = "1";
  LinkId link = 0;
  std::vector<message::Fact> facts;  // the outbox
  std::uint64_t sent = 0;
  std::map<std::string, bool> has;  // attempts; true: it runs
  std::set<std::string> over;
};

class Day {
 public:
  explicit Day(unsigned seed) : random_(seed) {
    for (const auto* name : {"here", "there"})
      agents_.push_back({.site = name, .facts = {}, .has = {}, .over = {}});
    open();
  }

  void step() {
    switch (pick(16)) {
      case 0:
      case 1:
        return submit();
      case 2:
        return change();
      case 3:
        return connect(agent());
      case 4:
        return pick(4) == 0 ? cut(agent()) : alive(agent());
      case 5:
        return pick(10) == 0 ? crash() : commit();
      case 6:
        return pick(40) == 0 ? lose_spool(agent()) : alive(agent());
      case 7:
        return talk_nonsense(agent());
      case 8:
        return time_passes();
      default:
        work(agent());
        deliver(agent());
    }
  }

  // Everything calms down: agents are there, and finish all they have.
  void evening() {
    comment_ = "# evening\n";  // site files that changed: what they refused before may come again
    for (auto& one : agents_) cut(one);
    for (int round = 0; round < 400; ++round) {
      for (auto& one : agents_) {
        if (one.link == 0) connect(one);
        for (const auto& [attempt, running] : std::map(one.has)) finish(one, attempt, Outcome::finished);
        deliver(one);
        alive(one);
      }
      world_->pass(std::chrono::seconds(10));
      look_at_actions();
      commit();
    }
    for (JobIndex index = 0; index < world_->state.job_count(); ++index) {
      const auto& job = world_->state.job(index);
      EXPECT_TRUE(is_over(job.state) || job.state == JobState::held)
          << world_->state.id_of(job) << " is " << name_of(job.state);
    }
    EXPECT_EQ(world_->state.job_count(), jobs_) << "no job was lost";
  }

 private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  Agent& agent() { return agents_[static_cast<std::size_t>(pick(2))]; }

  // --- the hub ---
  void open() {
    const auto now = world_ ? world_->now : Moment(std::chrono::seconds(1'800'000'000));
    store_.reset();
    world_ = std::make_unique<World>();
    world_->now = now;
    store_ = std::make_unique<Store>(directory_.path() / "hub.db", StoreOptions{.vfs = {}, .sync = false});
    store_->load(world_->state);
    world_->happen(Opened{});
    for (auto& one : agents_) one.link = 0;
    check_history();
  }
  void crash() { open(); }  // what was not committed never was, and nothing of it was told to anyone
  void commit() {
    world_->settle();
    store_->write(world_->state);
    world_->state.committed();
    jobs_ = world_->state.job_count();
    check_history();
    look_at_actions();
  }

  // What was once durable stays.
  void check_history() {
    for (JobIndex index = 0; index < world_->state.job_count(); ++index) {
      const auto& job = world_->state.job(index);
      auto& known = history_[index];
      EXPECT_GE(job.attempts.size(), known.attempts) << "epochs only grow";
      if (known.committed != 0) {
        EXPECT_EQ(job.committed, known.committed) << "committed once, for good";
      }
      known = {job.attempts.size(), job.committed};
    }
  }

  // Agents obey, but only to what was sent after a commit.
  void look_at_actions() {
    for (auto& one : agents_) {
      if (one.link == 0) continue;
      for (const auto& message : std::exchange(world_->sent[one.link], {})) obey(one, message);
      if (std::find(world_->closed.begin(), world_->closed.end(), one.link) != world_->closed.end())
        one.link = 0;
    }
  }
  void take(Agent& one, const std::vector<message::Assignment>& assignments) {
    for (const auto& assignment : assignments) {
      const auto id = assignment.attempt.text();
      if (!one.over.contains(id)) one.has.emplace(id, false);
    }
  }
  void stop(Agent& one, const std::string& id) {
    if (one.has.contains(id)) finish(one, id, Outcome::cancelled);
  }
  void obey(Agent& one, const message::FromHub& message) {
    if (const auto* welcome = std::get_if<message::Welcome>(&message)) one.sent = welcome->seen;
    if (const auto* carry = std::get_if<message::Carry>(&message)) take(one, carry->assignments);
    if (const auto* want = std::get_if<message::Want>(&message)) {
      std::set<std::string> wanted;
      for (const auto& assignment : want->assignments) wanted.insert(assignment.attempt.text());
      for (const auto& [id, running] : std::map(one.has))
        if (!wanted.contains(id)) stop(one, id);
      take(one, want->assignments);
    }
    if (const auto* stops = std::get_if<message::StopAttempts>(&message))
      for (const auto& attempt : stops->attempts) stop(one, attempt.text());
  }

  // --- people ---
  void submit() {
    const auto name = std::string(1, static_cast<char>('a' + pick(3)));
    const auto more = pick(2) == 0
                          ? "\"needs\": {\"nodes\": 2, \"walltime\": \"1h\"}, \"retry\": {\"crashes\": 1}"
                          : "\"checkpoint\": {\"every\": \"10m\"}";
    world_->submit(job_json(name, more), 1 + pick(3), pick(2) == 0 ? "anna" : "bob");
  }
  void change() {
    if (world_->state.job_count() == 0) return;
    const auto index = static_cast<JobIndex>(pick(static_cast<int>(world_->state.job_count())));
    const auto id = world_->state.id_of(world_->state.job(index));
    const auto verb = std::array{Verb::cancel, Verb::hold, Verb::release, Verb::release,
                                 Verb::retry}[static_cast<std::size_t>(pick(5))];
    (void)world_->change(id, verb);
  }

  // --- agents ---
  void connect(Agent& one) {
    if (one.link != 0) return;
    commit();
    std::vector<AttemptId> has;
    for (const auto& [id, running] : one.has) has.push_back(AttemptId::parse(id));
    one.link = world_->connect(one.site, site_text(one.site, comment_), has, one.outbox);
    // connect() numbers links from 1 in each new world; what an older one was told is not for us
    commit();
  }
  void cut(Agent& one) {
    if (one.link != 0) world_->happen(LinkDown{std::exchange(one.link, 0)});
  }
  void alive(Agent& one) {
    if (one.link == 0) return;
    std::vector<std::string> heard;
    for (const auto& [id, running] : one.has)
      if (running && pick(20) != 0) heard.push_back(id);
    world_->alive(one.link, heard);
  }
  void lose_spool(Agent& one) {
    cut(one);
    one.outbox += "1";
    one.facts.clear();
    one.has.clear();
    one.over.clear();
    one.sent = 0;
  }
  void finish(Agent& one, const std::string& id, Outcome outcome) {
    message::Ended ended;
    ended.attempt = AttemptId::parse(id);
    ended.outcome = outcome;
    ended.metrics.step = static_cast<std::uint64_t>(pick(50));
    ended.checkpoint = pick(2) == 0;
    one.facts.push_back(ended);
    one.has.erase(id);
    one.over.insert(id);
  }
  void work(Agent& one) {
    if (one.has.empty()) return;
    auto at = one.has.begin();
    std::advance(at, pick(static_cast<int>(one.has.size())));
    const auto id = at->first;
    if (!at->second && pick(8) == 0) {
      one.facts.push_back(message::Refused{AttemptId::parse(id), "no"});
      one.has.erase(id);
      one.over.insert(id);
    } else if (!at->second) {
      if (pick(2) == 0) one.facts.push_back(message::Queued{AttemptId::parse(id), "p1", "1"});
      one.facts.push_back(message::Started{AttemptId::parse(id), "p1", 1, {"n1"}});
      at->second = true;
    } else {
      finish(one, id,
             std::array{Outcome::finished, Outcome::finished, Outcome::failed, Outcome::timed_out,
                        Outcome::lost}[static_cast<std::size_t>(pick(5))]);
    }
  }
  // What the hub has not acknowledged, sometimes with what it has.
  void deliver(Agent& one) {
    if (one.link == 0 || one.sent > one.facts.size()) return;
    const auto again = std::min<std::uint64_t>(one.sent, static_cast<std::uint64_t>(pick(3)));
    const auto first = one.sent - again;
    world_->say(
        one.link,
        message::Facts{first, {one.facts.begin() + static_cast<std::ptrdiff_t>(first), one.facts.end()}});
    one.sent = one.facts.size();
  }
  void talk_nonsense(Agent& one) {
    if (one.link == 0 || world_->state.job_count() == 0 || one.sent != one.facts.size()) return;
    const auto index = static_cast<JobIndex>(pick(static_cast<int>(world_->state.job_count())));
    const AttemptId id{world_->state.id_of(world_->state.job(index)), 1 + pick(4)};
    const auto& job = world_->state.job(index);
    const bool mine =
        static_cast<std::size_t>(id.number) <= job.attempts.size() &&
        world_->state.site(job.attempts[static_cast<std::size_t>(id.number - 1)].site).record.name ==
            one.site;
    if (mine) return;
    message::Ended ended;
    ended.attempt = id;
    one.facts.push_back(ended);
    const auto committed = job.committed;
    deliver(one);
    EXPECT_EQ(world_->state.job(index).committed, committed) << "others' jobs cannot be committed";
  }

  void time_passes() {
    std::map<JobIndex, std::size_t> frozen;
    for (const auto& site : world_->state.sites())
      if (site.link == 0)
        for (const auto& [index, live] : site.live) frozen[index] = world_->state.job(index).attempts.size();
    world_->pass(std::chrono::seconds(pick(100)));
    for (const auto& [index, attempts] : frozen) {
      EXPECT_EQ(world_->state.job(index).attempts.size(), attempts) << "frozen leases do not expire";
      EXPECT_NE(world_->state.job(index).active(), nullptr) << "frozen leases do not expire";
    }
  }

  struct Known {
    std::size_t attempts = 0;
    std::uint32_t committed = 0;
  };
  std::mt19937 random_;
  TemporaryDirectory directory_;
  std::unique_ptr<World> world_;
  std::unique_ptr<Store> store_;
  std::vector<Agent> agents_;
  std::map<JobIndex, Known> history_;
  std::size_t jobs_ = 0;
  std::string comment_;
};

TEST(PropertyTest, WhateverHappensEachJobIsCommittedOnceAndNoneIsLost) {
  for (unsigned seed = 1; seed <= 40 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Day day(seed);
    for (int step = 0; step < 200 && !testing::Test::HasFailure(); ++step) day.step();
    if (!testing::Test::HasFailure()) day.evening();
  }
}

}  // namespace
}  // namespace longship::hub
