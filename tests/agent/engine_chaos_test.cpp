// SPDX-License-Identifier: Apache-2.0
// Random lives of an agent: it dies between any two of its writes, submissions get lost or come up late,
// pilots are killed, records come late and twice, the batch system forgets. Whatever happens:
// - no attempt runs in two pilots,
// - each attempt gets exactly one last fact, and nothing is said about it afterwards,
// - what a pilot finished and said in time is told as finished, and nothing else is,
// - in the end no pilot is left in the batch system.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "papers.h"

namespace longship::agent {
namespace {

using batch::State;
using std::chrono::seconds;

struct SimulatedPilot {
  State state = State::queued;
  std::size_t read = 0;          // of what it was told
  std::vector<AttemptId> queue;  // taken, not begun
  std::optional<AttemptId> current;
  bool leave = false;
  std::vector<std::pair<Instant, message::FromPilot>> said;  // and when it becomes visible
  std::size_t heard = 0;                                     // by this agent
  Instant ended{};
};

struct Crash {};

class Chaos {
 public:
  explicit Chaos(unsigned seed) : random_(seed) {}

  void live(int ticks) {
    for (int i = 0; i < ticks; ++i) tick(true);
    for (int i = 0; i < 20'000 && !quiet(); ++i) tick(false);
  }

  void check() {
    EXPECT_TRUE(quiet()) << "attempts: " << world_.engine->attempts().size()
                         << " pilots: " << world_.engine->pilots().size();
    for (const auto& [name, pilot] : batch_) EXPECT_EQ(pilot.state, State::ended) << name << " is an orphan";
    for (const auto& [id, pilots] : ran_) EXPECT_LE(pilots.size(), 1u) << id.text() << " ran in two pilots";
    std::map<AttemptId, int> last;
    std::set<AttemptId> told;
    for (const auto& fact : world_.papers.outbox) {
      const auto& id = message::attempt_of(fact);
      told.insert(id);
      EXPECT_EQ(last[id], 0) << World::in_words(fact) << " after its last fact";
      const auto* ended = std::get_if<message::Ended>(&fact);
      if (ended == nullptr) continue;
      ++last[id];
      const bool finished = ended->outcome == message::Outcome::finished;
      EXPECT_TRUE(!finished || finished_.contains(id)) << World::in_words(fact);
      EXPECT_TRUE(!finished_.contains(id) || finished || stopped_.contains(id)) << World::in_words(fact);
    }
    for (const auto& id : wanted_)  // one may be stopped before the agent ever heard of it
      if (told.contains(id) || !stopped_.contains(id)) {
        EXPECT_EQ(last[id], 1) << id.text();
      }
    EXPECT_EQ(world_.engine->ignored(), 0u);
  }
  [[nodiscard]] std::size_t crashes() const { return crashes_; }
  [[nodiscard]] std::size_t finished() const { return finished_.size(); }

 private:
  int upto(int most) { return std::uniform_int_distribution(0, most)(random_); }
  bool one_in(int n) { return upto(n - 1) == 0; }

  bool quiet() const {
    if (!in_flight_.empty() || !world_.engine->attempts().empty() || !world_.engine->pilots().empty())
      return false;
    return std::all_of(batch_.begin(), batch_.end(),
                       [](const auto& p) { return p.second.state == State::ended; });
  }

  void tick(bool wild) {
    world_.now += seconds(1);
    std::vector<Input> inputs = std::exchange(answers_, {});
    if (wild) disturb(inputs);
    lease(inputs);
    land();
    for (auto& [name, pilot] : batch_) act(name, pilot, wild);
    ask_batch(inputs, wild);
    hear(inputs);
    try {
      perform(world_.engine->step(world_.now, inputs), wild);
    } catch (const Crash&) {
      ++crashes_;
      answers_.clear();
      for (auto& [name, pilot] : batch_) pilot.heard = 0;
      world_.restart();
      answers_.push_back(want());
    }
  }

  // --- the hub ---

  Input want() const {
    message::Want want;
    for (const auto& id : wanted_)
      if (!stopped_.contains(id)) want.assignments.push_back(assignment(id.text(), "600"));
    return want;
  }

  void disturb(std::vector<Input>& inputs) {
    if (one_in(4)) {
      const auto id = fmt::format("job-{}.1", ++jobs_);
      wanted_.insert(AttemptId::parse(id));
      inputs.push_back(carry({assignment(id, "600", 1 + upto(1))}));
    }
    if (one_in(30)) inputs.push_back(want());
    if (one_in(15) && !wanted_.empty()) {
      const auto id = *std::next(wanted_.begin(), upto(static_cast<int>(wanted_.size()) - 1));
      stopped_.insert(id);
      inputs.push_back(message::StopAttempts{{id}, message::StopReason::cancelled});
    }
    if (one_in(20) && !batch_.empty()) {  // a node fails
      auto& pilot = std::next(batch_.begin(), upto(static_cast<int>(batch_.size()) - 1))->second;
      kill(pilot);
    }
  }

  // The hub gives up what it does not hear of.
  void lease(std::vector<Input>& inputs) {
    for (const auto& [name, pilot] : batch_)
      if (pilot.state == State::ended && pilot.current && world_.now - pilot.ended > seconds(200)) {
        stopped_.insert(*pilot.current);
        inputs.push_back(message::StopAttempts{{*pilot.current}, message::StopReason::superseded});
      }
  }

  // --- the batch system ---

  void land() {
    for (auto at = in_flight_.begin(); at != in_flight_.end();)
      if (at->second <= world_.now) {
        batch_.try_emplace(at->first);
        at = in_flight_.erase(at);
      } else {
        ++at;
      }
  }

  void kill(SimulatedPilot& pilot) {
    if (pilot.state == State::ended) return;
    pilot.state = State::ended;
    pilot.ended = world_.now;
  }

  // Nobody knows what became of it.
  void submit_blindly(const std::string& name) {
    switch (upto(4)) {
      case 0:
        break;
      case 1:
        batch_.try_emplace(name);
        break;
      case 2:
        in_flight_[name] = world_.now + seconds(upto(15));
        break;
      default:
        in_flight_[name] = world_.now + seconds(upto(120));
        break;  // too late: it finds Leave
    }
  }

  void ask_batch(std::vector<Input>& inputs, bool wild) {
    if (!one_in(3)) return;
    if (wild && one_in(5)) {
      inputs.push_back(BatchSilent{"no answer"});
      return;
    }
    std::map<std::string, State> states;
    for (const auto& name : world_.engine->pilots()) {
      const auto found = batch_.find(name);
      const bool forgotten = found == batch_.end() || (forgetful_ && found->second.state == State::ended &&
                                                       world_.now - found->second.ended > seconds(5));
      states[name] = forgotten ? State::unknown : found->second.state;
    }
    inputs.push_back(reports(states));
  }

  // --- pilots ---

  void say(SimulatedPilot& pilot, message::FromPilot message) {
    const auto visible = world_.now + seconds(upto(8));
    const auto at = pilot.said.empty() ? visible : std::max(visible, pilot.said.back().first);
    pilot.said.emplace_back(at, message);
    if (one_in(10)) pilot.said.emplace_back(at, message);
  }

  void end(SimulatedPilot& pilot, const AttemptId& id, message::Outcome outcome) {
    message::Ended ended;
    ended.attempt = id;
    ended.outcome = outcome;
    ended.duration = std::chrono::milliseconds(upto(5000));
    say(pilot, ended);
  }

  void act(const std::string& name, SimulatedPilot& pilot, bool wild) {
    if (pilot.state == State::ended) return;
    if (pilot.state == State::queued) {
      if (!one_in(10)) return;
      pilot.state = State::running;
      say(pilot, message::Began{{"n1"}, wild && one_in(3) ? seconds(900) : seconds(0)});
    }
    read(name, pilot);
    if (pilot.current && one_in(5)) {
      finished_.insert(*pilot.current);
      end(pilot, *pilot.current, message::Outcome::finished);
      pilot.current.reset();
    }
    if (!pilot.current && !pilot.queue.empty()) {
      pilot.current = pilot.queue.front();
      pilot.queue.erase(pilot.queue.begin());
      ran_[*pilot.current].insert(name);
      say(pilot, message::Running{*pilot.current, 1, {"n1"}});
    }
    const bool idle = !pilot.current && pilot.queue.empty();
    if ((idle && (pilot.leave || one_in(60))) || (!pilot.current && wild && one_in(40))) {
      if (one_in(2))  // there was no time left for them
        for (const auto& id : pilot.queue) end(pilot, id, message::Outcome::lost);
      say(pilot, message::Left{"done"});
      kill(pilot);
    }
  }

  void read(const std::string& name, SimulatedPilot& pilot) {
    const auto& told = world_.papers.told[name];
    for (; pilot.read < told.size(); ++pilot.read) {
      if (const auto* take = std::get_if<message::Take>(&told[pilot.read]))
        pilot.queue.push_back(take->assignment.attempt);
      if (std::holds_alternative<message::Leave>(told[pilot.read])) pilot.leave = true;
      if (const auto* stop = std::get_if<message::Stop>(&told[pilot.read])) {
        if (pilot.current == stop->attempt) {
          end(pilot, stop->attempt, message::Outcome::cancelled);
          pilot.current.reset();
        } else if (std::erase(pilot.queue, stop->attempt) > 0) {
          end(pilot, stop->attempt, message::Outcome::cancelled);
        }
      }
    }
  }

  void hear(std::vector<Input>& inputs) {
    for (const auto& name : world_.engine->pilots()) {
      auto& pilot = batch_.contains(name) ? batch_.at(name) : nobody_;
      for (; pilot.heard < pilot.said.size() && pilot.said[pilot.heard].first <= world_.now; ++pilot.heard)
        inputs.push_back(PilotSaid{name, pilot.said[pilot.heard].second});
    }
  }

  // --- the agent's hands ---

  void may_die(bool wild) {
    if (wild && one_in(25)) throw Crash{};
  }

  void perform(const Actions& actions, bool wild) {
    auto& papers = world_.papers;
    for (const auto& entry : actions.journal) {
      may_die(wild);
      papers.journal.push_back(entry);
    }
    for (const auto& tell : actions.tell) {
      may_die(wild);
      auto& log = papers.told[tell.pilot];
      log.insert(log.end(), tell.messages.begin(), tell.messages.end());
    }
    for (const auto& fact : actions.facts) {
      may_die(wild);
      papers.outbox.push_back(fact);
    }
    for (const auto& made : actions.submit) {
      if (wild && one_in(10)) {
        submit_blindly(made.pilot);
        if (one_in(2)) throw Crash{};
        answers_.push_back(SubmitFailed{made.pilot, "no answer"});
      } else {
        batch_.try_emplace(made.pilot);
        may_die(wild);
        answers_.push_back(SubmitDone{made.pilot, "1"});
      }
    }
    for (const auto& pilot : actions.cancel) {
      may_die(wild);
      if (const auto found = batch_.find(pilot); found != batch_.end()) kill(found->second);
    }
    for (const auto& name : actions.remove) {
      may_die(wild);
      papers.told.erase(name);
    }
  }

  std::mt19937 random_;
  World world_;
  bool forgetful_ = one_in(2);
  std::map<std::string, SimulatedPilot> batch_;
  SimulatedPilot nobody_;
  std::map<std::string, Instant> in_flight_;
  std::vector<Input> answers_;
  int jobs_ = 0;
  std::size_t crashes_ = 0;
  std::set<AttemptId> wanted_, stopped_, finished_;
  std::map<AttemptId, std::set<std::string>> ran_;
};

TEST(EngineChaosTest, WhateverHappensEachAttemptEndsOnceAndRunsInOnePilot) {
  std::size_t crashes = 0, finished = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chaos chaos(seed);
    chaos.live(200);
    chaos.check();
    crashes += chaos.crashes();
    finished += chaos.finished();
    if (HasFailure()) break;
  }
  EXPECT_GT(crashes, 100u);
  EXPECT_GT(finished, 150u);
}

}  // namespace
}  // namespace longship::agent
