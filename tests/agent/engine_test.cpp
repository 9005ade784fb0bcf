// SPDX-License-Identifier: Apache-2.0
// The rules one by one; engine_chaos_test.cpp has them all at once, with crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "papers.h"

namespace longship::agent {
namespace {

using batch::State;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const std::string p1 = "p000000000001", p2 = "p000000000002", p3 = "p000000000003";
const std::string digest = "sha256:" + std::string(64, 'a');

// One attempt, given to p1, which was handed in.
World with_one_queued(const std::string& walltime = {}) {
  World world;
  world.step({carry({assignment("digits-1.1", walltime)})});
  world.step({SubmitDone{p1, "77"}});
  return world;
}

World with_one_running() {
  World world = with_one_queued();
  world.step({began(p1), running(p1, "digits-1.1"), reports({{p1, State::running}})});
  return world;
}

TEST(EngineTest, AnAttemptGoesItsWay) {
  World world;
  const auto& first = world.step({carry({assignment("digits-1.1")})});
  EXPECT_THAT(first.submit, SizeIs(1));
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1"));
  world.step({SubmitDone{p1, "77"}});
  world.step({began(p1), running(p1, "digits-1.1")});
  world.step({ended(p1, "digits-1.1")});
  EXPECT_THAT(world.facts(), ElementsAre("preparing digits-1.1", "queued digits-1.1 " + p1,
                                         "started digits-1.1 " + p1, "ended digits-1.1 finished"));
  EXPECT_EQ(std::get<message::Queued>(world.papers.outbox[1]).batch_job, "77");
  world.pass(seconds(11));
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "leave"));
  world.step({left(p1), reports({{p1, State::ended}})});
  EXPECT_THAT(world.last.remove, ElementsAre(p1));
  EXPECT_THAT(world.engine->pilots(), IsEmpty());
  EXPECT_THAT(world.engine->attempts(), IsEmpty());
}

TEST(EngineTest, ThePilotsNameIsInTheJournalOfTheStepThatHandsItIn) {
  World world;
  const auto& actions = world.step({carry({assignment("digits-1.1")})});
  ASSERT_THAT(actions.journal, SizeIs(2));
  EXPECT_EQ(std::get<Made>(actions.journal[1]).pilot, actions.submit.front().pilot);
}

TEST(EngineTest, EveryCommandAndRecordMayComeTwice) {
  World world;
  world.step({carry({assignment("digits-1.1")}), carry({assignment("digits-1.1")})});
  world.step({SubmitDone{p1, "77"}, SubmitDone{p1, "77"}});
  for (int i = 0; i < 2; ++i)
    world.step({began(p1), began(p1), running(p1, "digits-1.1"), running(p1, "digits-1.1")});
  const message::StopAttempts stop{{AttemptId::parse("digits-1.1")}, message::StopReason::cancelled};
  world.step({stop, stop});
  world.step({stop});
  for (int i = 0; i < 2; ++i) world.step({ended(p1, "digits-1.1"), ended(p1, "digits-1.1"), stop});
  world.step({carry({assignment("digits-1.1")}), running(p1, "digits-1.1")});
  EXPECT_THAT(world.facts(), ElementsAre("preparing digits-1.1", "queued digits-1.1 " + p1,
                                         "started digits-1.1 " + p1, "ended digits-1.1 finished"));
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "stop digits-1.1"));
  EXPECT_EQ(world.names, 1);
}

TEST(EngineTest, WhatTheSiteDoesNotTakeIsRefusedOnceWithTheReason) {
  World world;
  world.refuse["digits"] = "site x takes only jobs of team clic";
  world.step({carry({assignment("digits-1.1")})});
  world.refuse.clear();  // the site file was changed meanwhile
  world.restart();
  world.step({message::Want{{assignment("digits-1.1")}}});
  EXPECT_THAT(world.facts(), ElementsAre("refused digits-1.1: site x takes only jobs of team clic"));
}

TEST(EngineTest, AHubThatTalksNonsenseIsRefusedOrIgnored) {
  World world;
  auto bad = assignment("digits-1.1");
  bad.job = "{";
  world.step({carry({bad})});
  EXPECT_THAT(world.facts(), ElementsAre(StartsWith("refused digits-1.1: ")));
  auto path = assignment("digits-2.1");
  path.attempt.job = "../../etc";
  world.step({carry({path}), message::Discard{{path.attempt}}});
  EXPECT_EQ(world.engine->ignored(), 2);
  EXPECT_THAT(world.last.discard, IsEmpty());
  auto blob = assignment("digits-3.1");
  blob.code.digest = "sha256:../../x";
  world.step({carry({blob})});
  EXPECT_THAT(world.facts(), Contains(HasSubstr("is no digest")));
  EXPECT_THAT(world.engine->attempts(), IsEmpty());
}

TEST(EngineTest, WantIsAllThereIsToBe) {
  World world = with_one_running();
  world.step({carry({assignment("gan-1.1")})});
  world.step({message::Want{{assignment("digits-2.1")}}});
  EXPECT_THAT(world.told(p1), Contains("stop digits-1.1"));
  EXPECT_THAT(world.engine->attempts(), Contains(AttemptId::parse("digits-2.1")));
}

TEST(EngineTest, OnlyTheLastPartOfAWantStopsOthers) {
  World world = with_one_running();
  world.step({message::Want{{assignment("digits-2.1")}, true}});
  EXPECT_THAT(world.told(p1), Not(Contains("stop digits-1.1")));
  world.step({NewLink{}, message::Want{{assignment("digits-1.1")}, false}});
  EXPECT_THAT(world.told(p1), Not(Contains("stop digits-1.1")));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-2.1", "stop digits-2.1"));
}

TEST(EngineTest, OneThatNoPilotHasIsCancelledAtOnce) {
  World world;
  auto waiting = assignment("digits-1.1");
  waiting.code = {digest, 10};
  EXPECT_THAT(world.step({carry({waiting})}).fetch, SizeIs(1));
  world.step({message::StopAttempts{{waiting.attempt}, message::StopReason::cancelled}});
  EXPECT_THAT(world.facts(), ElementsAre("preparing digits-1.1",
                                         "ended digits-1.1 cancelled: cancelled before a pilot had it"));
  world.step({BlobHere{digest}});
  EXPECT_EQ(world.names, 0);
}

TEST(EngineTest, SeveralAttemptsWaitForOneBlob) {
  World world;
  auto a = assignment("digits-1.1"), b = assignment("digits-2.1");
  a.code = b.code = {digest, 10};
  EXPECT_THAT(world.step({carry({a, b})}).fetch, SizeIs(1));
  EXPECT_EQ(world.names, 0);
  world.step({BlobHere{digest}});
  EXPECT_EQ(world.names, 2);
}

TEST(EngineTest, BytesThatDoNotComeLoseTheAttemptWithTheReason) {
  World world;
  auto a = assignment("digits-1.1");
  a.code = {digest, 10};
  world.step({carry({a})});
  world.step({BlobMissing{digest, "the hub has no such blob"}});
  EXPECT_THAT(world.facts().back(),
              HasSubstr("lost: what it needs could not be brought to the site: the hub has no"));
}

TEST(EngineTest, AQueuedPilotWithNothingElseIsTakenBack) {
  World world = with_one_queued();
  world.step({reports({{p1, State::queued}})});
  const message::StopAttempts stop{{AttemptId::parse("digits-1.1")}, message::StopReason::cancelled};
  EXPECT_THAT(world.step({stop}).cancel, ElementsAre(p1));
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "stop digits-1.1", "leave"));
  world.step({reports({{p1, State::ended}})});
  world.pass(seconds(6), {reports({{p1, State::ended}})});
  EXPECT_THAT(world.facts().back(), StartsWith("ended digits-1.1 cancelled"));
  world.pass(seconds(1));
  EXPECT_THAT(world.engine->pilots(), IsEmpty());
}

TEST(EngineTest, AtMostSoManyPilotsWait) {
  World world;
  std::vector<message::Assignment> many;
  for (int i = 1; i <= 10; ++i) many.push_back(assignment(fmt::format("digits-{}.1", i)));
  world.step({carry(many)});
  EXPECT_EQ(world.names, 2);
  world.step({SubmitDone{p1, "1"}, SubmitDone{p2, "2"}, began(p1)});
  EXPECT_EQ(world.names, 3);
}

TEST(EngineTest, AnIdlePilotOfTheSameShapeGetsTheNextOne) {
  World world = with_one_running();
  world.step({ended(p1, "digits-1.1")});
  world.step({carry({assignment("gan-1.1")})});
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "take gan-1.1"));
  world.step({ended(p1, "gan-1.1"), carry({assignment("big-1.1", {}, 2)})});
  EXPECT_EQ(world.names, 2) << "another number of nodes is another pilot";
}

TEST(EngineTest, APilotWithoutEnoughTimeLeftGetsNothing) {
  World world = with_one_queued("3600");
  world.step({began(p1, hours(1)), running(p1, "digits-1.1")});
  world.pass(minutes(10), {ended(p1, "digits-1.1"), carry({assignment("digits-2.1", "3600")})});
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "leave"));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-2.1"));
}

TEST(EngineTest, ShortAttemptsAreGivenAheadAndEvenly) {
  World world;
  std::vector<message::Assignment> many;
  for (int i = 1; i <= 1000; ++i) many.push_back(assignment(fmt::format("noop-{}.1", i)));
  world.step({carry(many)});
  world.step({SubmitDone{p1, "1"}, SubmitDone{p2, "2"}, began(p1), began(p2)});
  EXPECT_THAT(world.told(p1), SizeIs(1)) << "nothing is known about them yet";
  world.step({ended(p1, "noop-1.1", message::Outcome::finished, milliseconds(2))});
  const auto one = world.told(p1).size(), two = world.told(p2).size();
  EXPECT_GT(one, 300u);
  EXPECT_GT(two, 300u);
}

TEST(EngineTest, APilotThatIsGoneLosesWhatRanAfterAGrace) {
  World world = with_one_running();
  auto gone = reports({{p1, State::ended}});
  gone.reports[p1].reason = "NODE_FAIL";
  gone.last_words[p1] = "slurmstepd: error: node failure";
  world.step({gone});
  world.pass(seconds(29), {gone});
  EXPECT_EQ(world.papers.outbox.size(), 3u);
  world.pass(seconds(2), {gone});
  EXPECT_THAT(world.facts().back(), testing::AllOf(StartsWith("ended digits-1.1 lost"),
                                                   HasSubstr("NODE_FAIL"), HasSubstr("node failure")));
}

TEST(EngineTest, ItsLastWordsMayComeLate) {
  World world = with_one_running();
  world.step({reports({{p1, State::ended}})});
  world.pass(seconds(20), {ended(p1, "digits-1.1")});
  world.pass(seconds(60));
  EXPECT_THAT(world.facts().back(), StartsWith("ended digits-1.1 finished"));
}

TEST(EngineTest, WhatAnEndedPilotNeverBeganGoesToAnother) {
  World world = with_one_queued();
  world.step({reports({{p1, State::ended}})});
  EXPECT_EQ(world.names, 1);
  world.pass(seconds(31));
  world.pass(seconds(6));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-1.1"));
  world.restart();  // both logs say Take now
  world.step({SubmitDone{p2, "2"}, began(p2), running(p2, "digits-1.1")});
  EXPECT_THAT(world.facts().back(), "started digits-1.1 " + p2);
  EXPECT_EQ(world.engine->ignored(), 0u);
}

TEST(EngineTest, WhatAPilotHadNoTimeForGoesToAnotherAndItGetsNoMore) {
  World world = with_one_queued();
  world.step({began(p1), ended(p1, "digits-1.1", message::Outcome::lost)});
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "leave"));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-1.1"));
  world.restart();
  world.step({began(p1), ended(p1, "digits-1.1", message::Outcome::lost), left(p1)});
  EXPECT_THAT(world.facts().back(), Not(StartsWith("ended")));
  EXPECT_EQ(world.engine->ignored(), 0u);
}

TEST(EngineTest, PilotsThatNeverBeginLoseTheAttemptInTheEnd) {
  World world;
  world.step({carry({assignment("digits-1.1")})});
  for (int i = 1; i <= 4; ++i) {
    const auto pilot = fmt::format("p{:012x}", i);
    world.step({SubmitDone{pilot, "x"}});
    auto gone = reports({{pilot, State::ended}});
    gone.last_words[pilot] = "longship: not found";
    world.step({gone});
    world.pass(seconds(31), {gone});
    for (int minute = 0; minute < 6; ++minute) world.pass(minutes(1));
  }
  EXPECT_THAT(world.facts().back(),
              testing::AllOf(StartsWith("ended digits-1.1 lost: 4 pilots ended before they began it"),
                             HasSubstr("longship: not found")));
  EXPECT_EQ(world.names, 4);
}

TEST(EngineTest, UnknownProvesNothing) {
  World world = with_one_running();
  for (int i = 0; i < 1000; ++i) world.pass(minutes(1), {reports({{p1, State::unknown}})});
  EXPECT_EQ(world.papers.outbox.size(), 3u);
  world.step({ended(p1, "digits-1.1")});
  EXPECT_THAT(world.facts().back(), StartsWith("ended digits-1.1 finished"));
}

TEST(EngineTest, AQueuedPilotForgottenByTheBatchSystemLosesTheAttemptButNeverGivesItAway) {
  World world = with_one_queued();
  for (int i = 0; i < 12; ++i) world.pass(minutes(1), {reports({{p1, State::unknown}})});
  EXPECT_THAT(world.facts().back(), HasSubstr("neither heard of nor known to the batch system"));
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "stop digits-1.1"));
  EXPECT_EQ(world.names, 1);
}

TEST(EngineTest, AStoppedAttemptOfAForgottenPilotIsClosed) {
  World world = with_one_running();
  world.step({message::Want{}});
  for (int i = 0; i < 12; ++i) world.pass(minutes(1), {reports({{p1, State::unknown}})});
  EXPECT_THAT(world.facts().back(), StartsWith("ended digits-1.1 lost"));
  EXPECT_THAT(world.engine->pilots(), IsEmpty());
}

TEST(EngineTest, ASubmissionWhoseAnswerWasLostIsFoundByItsName) {
  World world;
  world.step({carry({assignment("digits-1.1")})});
  world.restart();
  EXPECT_THAT(world.step().submit, IsEmpty());
  EXPECT_THAT(world.engine->pilots(), ElementsAre(p1));
  auto found = reports({{p1, State::queued}});
  found.reports[p1].id = "78";
  world.step({found});
  EXPECT_THAT(world.facts().back(), "queued digits-1.1 " + p1);
  EXPECT_EQ(std::get<message::Queued>(world.papers.outbox.back()).batch_job, "78");
  world.pass(hours(1), {found});
  EXPECT_EQ(world.names, 1);
}

TEST(EngineTest, ASubmissionThatNeverArrivedIsAbandonedNotRepeated) {
  World world;
  world.step({carry({assignment("digits-1.1")})});
  world.step({SubmitFailed{p1, "slurmctld does not answer"}});
  EXPECT_EQ(world.engine->alive().condition, "queue q: slurmctld does not answer");
  for (int i = 0; i < 10; ++i) world.pass(seconds(10), {BatchSilent{"slurmctld does not answer"}});
  EXPECT_EQ(world.names, 1) << "nobody said that it is not there";
  world.pass(seconds(10), {reports({{p1, State::unknown}})});
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "stop digits-1.1", "leave"));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-1.1"));
  // It was only slow.
  EXPECT_THAT(world.step({reports({{p1, State::queued}, {p2, State::queued}})}).cancel, ElementsAre(p1));
}

TEST(EngineTest, ThePoisonIsWrittenAgainIfTheAgentDiedBeforeIt) {
  World world;
  world.step({carry({assignment("digits-1.1")})});
  world.papers.journal.push_back(Abandoned{p1});
  world.restart();
  world.step();
  EXPECT_THAT(world.told(p1), ElementsAre("take digits-1.1", "stop digits-1.1", "leave"));
  EXPECT_THAT(world.told(p2), ElementsAre("take digits-1.1"));
}

TEST(EngineTest, FailingSubmissionsAreTriedLessAndLessOften) {
  World world;
  world.step({carry({assignment("digits-1.1")})});
  int made = 0;
  for (int second = 0; second < 3600; ++second) {
    std::vector<Input> inputs;
    for (const auto& submitted : world.last.submit)
      inputs.push_back(SubmitFailed{submitted.pilot, "invalid account"});
    std::map<std::string, State> states;
    for (const auto& pilot : world.engine->pilots()) states[pilot] = State::unknown;
    inputs.push_back(reports(states));
    world.pass(seconds(1), inputs);
    made = world.names;
  }
  EXPECT_GT(made, 5);
  EXPECT_LT(made, 30);
  EXPECT_THAT(world.engine->attempts(), SizeIs(1)) << "it waits, with the reason";
  ASSERT_THAT(world.engine->alive().waiting, Not(IsEmpty()));
}

TEST(EngineTest, APilotsWordAboutAnothersAttemptMeansNothing) {
  World world = with_one_running();
  world.step({carry({assignment("gan-1.1")})});
  world.step({SubmitDone{p2, "2"}, began(p2)});
  const auto before = world.facts();
  world.step(
      {ended(p2, "digits-1.1"), running(p2, "digits-1.1"), ended(p1, "nobody-1.1"), ended(p3, "digits-1.1")});
  EXPECT_EQ(world.facts(), before);
  EXPECT_EQ(world.engine->ignored(), 4u);
}

TEST(EngineTest, ARestartForgetsNothing) {
  World world = with_one_running();
  world.step({carry({assignment("gan-1.1"), assignment("gan-2.1"), assignment("gan-3.1")})});
  const auto attempts = world.engine->attempts();
  const auto facts = world.facts();
  world.restart();
  world.step({began(p1), running(p1, "digits-1.1")});
  EXPECT_EQ(world.engine->attempts(), attempts);
  EXPECT_EQ(world.facts(), facts);
  world.step({ended(p1, "digits-1.1")});
  const auto later = world.facts();
  world.restart();
  world.step({began(p1), running(p1, "digits-1.1"), ended(p1, "digits-1.1")});
  EXPECT_EQ(world.facts(), later);
}

TEST(EngineTest, WithoutItsOutboxItDoesNotRunAgainWhatMayHaveEnded) {
  World world = with_one_running();
  world.step({ended(p1, "digits-1.1"), carry({assignment("gan-1.1", {}, 2)})});
  world.step({left(p1), reports({{p1, State::ended}, {p2, State::queued}})});
  world.papers.outbox.clear();
  world.restart();
  world.engine->outbox_is_new();
  world.step();
  EXPECT_THAT(world.engine->attempts(), ElementsAre(AttemptId::parse("gan-1.1"))) << "a pilot has it";
  EXPECT_EQ(world.names, 2);
}

TEST(EngineTest, AnEarlierAgentsPilotIsNotTrustedWithTheTime) {
  World world = with_one_queued("600");
  world.step({began(p1, minutes(10)), running(p1, "digits-1.1")});
  world.restart();
  world.step({began(p1, minutes(10)), running(p1, "digits-1.1"), ended(p1, "digits-1.1")});
  world.step({carry({assignment("digits-2.1", "60")})});
  EXPECT_THAT(world.told(p1), Not(Contains("take digits-2.1")));
}

TEST(EngineTest, WhatTheHubHasSeenIsForgottenButNotAtOnce) {
  World world;
  world.rules.remembered = 2;
  world.restart();
  world.refuse["digits"] = "no";
  for (int i = 1; i <= 5; ++i) world.step({carry({assignment(fmt::format("digits-{}.1", i))})});
  world.step({message::Seen{4}, carry({assignment("digits-4.1"), assignment("digits-5.1")})});
  EXPECT_EQ(world.papers.outbox.size(), 5u);
}

TEST(EngineTest, DirectoriesInUseAreNotDiscarded) {
  World world = with_one_running();
  const auto& actions =
      world.step({message::Discard{{AttemptId::parse("digits-1.1"), AttemptId::parse("old-1.1")}}});
  EXPECT_THAT(actions.discard, ElementsAre(AttemptId::parse("old-1.1")));
}

TEST(EngineTest, BeatsBecomeNewsOfTheAttempt) {
  World world = with_one_running();
  static_cast<void>(world.engine->alive());
  EXPECT_FALSE(world.engine->has_news());
  message::Beat beat{{AttemptId::parse("digits-1.1")}, {3, 10, {{"loss", 0.5}}}};
  world.step({PilotSaid{p1, beat}});
  ASSERT_TRUE(world.engine->has_news());
  const auto alive = world.engine->alive();
  ASSERT_THAT(alive.heard, SizeIs(1));
  EXPECT_EQ(alive.heard[0].metrics.step, 3u);
}

TEST(EngineTest, APilotThatWaitsTellsWhy) {
  World world = with_one_queued();
  auto said = reports({{p1, State::queued}});
  said.reports[p1].reason = "Priority";
  said.reports[p1].expected_start = 1234;
  world.step({said});
  const auto alive = world.engine->alive();
  ASSERT_THAT(alive.waiting, SizeIs(1));
  EXPECT_EQ(alive.waiting[0].reason, "Priority");
  EXPECT_EQ(alive.waiting[0].expected_start, 1234);
}

TEST(EngineTest, AnIdlePilotMakesWayForOnesThatWait) {
  World world;
  world.step({carry({assignment("digits-1.1"), assignment("big-1.1", {}, 2)})});
  world.step({SubmitDone{p1, "1"}, SubmitDone{p2, "2"}});
  const auto mine = world.told(p1) == std::vector<std::string>{"take digits-1.1"} ? p1 : p2;
  world.step({began(mine), running(mine, "digits-1.1"), ended(mine, "digits-1.1")});
  EXPECT_THAT(world.told(mine), ElementsAre("take digits-1.1", "leave"));
}

}  // namespace
}  // namespace longship::agent
