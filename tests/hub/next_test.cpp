// SPDX-License-Identifier: Apache-2.0
#include "hub/next.h"

#include "world.h"

namespace longship::hub {
namespace {

using message::Outcome;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(NextTest, AJobGoesToASiteRunsAndIsCommitted) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  EXPECT_EQ(id, "digits-1");
  EXPECT_THAT(world.carried(link), ElementsAre("digits-1.1"));
  EXPECT_EQ(world.state_of(id), JobState::assigned);
  const auto attempt = message::AttemptId::parse("digits-1.1");
  world.tell(link, {message::Preparing{attempt}, message::Queued{attempt, "p1", "77"}});
  EXPECT_EQ(world.job(id).newest()->state, AttemptState::queued);
  world.start(link, "digits-1.1");
  EXPECT_EQ(world.state_of(id), JobState::running);
  world.end(link, "digits-1.1", Outcome::finished);
  EXPECT_EQ(world.state_of(id), JobState::finished);
  EXPECT_EQ(world.job(id).committed, 1u);
}

TEST(NextTest, JobsOfANameAreNumberedOneAfterAnother) {
  World world;
  EXPECT_EQ(world.submit(job_json("a"), 3), "a-1");
  EXPECT_EQ(world.submit(job_json("b")), "b-1");
  EXPECT_EQ(world.submit(job_json("a")), "a-4");
  EXPECT_EQ(world.state.find_job("a-5"), none);
  EXPECT_EQ(world.state.find_job("a-0"), none);
  EXPECT_EQ(world.state.find_job("a-04"), none);
  EXPECT_EQ(world.state.find_job("a-99999999999"), none);
  EXPECT_EQ(world.state.find_job("a"), none);
}

TEST(NextTest, TheSameKeyIsTheSameJob) {
  World world;
  Submit submit;
  submit.job = job_json();
  submit.key = "k1";
  const auto first = world.ask(submit).body;
  EXPECT_EQ(world.ask(submit).body, first);
  EXPECT_EQ(world.state.job_count(), 1u);
  submit.count = 2;
  EXPECT_EQ(world.ask(submit).status, 409);
  submit.count = 1;
  EXPECT_NE(world.ask(submit, {"bob", "", ""}).body, first) << "another user's keys are others";
}

TEST(NextTest, AFailedJobIsTriedAgainAsOftenAsItSays) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit(job_json("digits", "\"retry\": {\"crashes\": 1}"));
  world.end(link, "digits-1.1", Outcome::failed);
  EXPECT_EQ(world.state_of(id), JobState::waiting);
  EXPECT_THAT(world.why(id), HasSubstr("it broke"));
  world.pass(seconds(2), seconds(1));
  EXPECT_EQ(world.state_of(id), JobState::assigned);
  world.end(link, "digits-1.2", Outcome::failed);
  EXPECT_EQ(world.state_of(id), JobState::failed);
  EXPECT_EQ(world.change(id, Verb::retry).status, 200);
  EXPECT_EQ(world.state_of(id), JobState::assigned);
  EXPECT_EQ(world.job(id).newest()->number, 3);
}

TEST(NextTest, ASilentAgentFreezesLeasesUntilWalltimeAndGrace) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit(job_json("digits", "\"needs\": {\"walltime\": \"2h\", \"nodes\": 4}"));
  world.start(link, "digits-1.1");
  world.happen(LinkDown{link});
  world.pass(hours(2));
  EXPECT_EQ(world.state_of(id), JobState::running);
  EXPECT_THAT(world.why(id), HasSubstr("silent"));
  world.pass(minutes(16));
  EXPECT_EQ(world.state_of(id), JobState::waiting);
  EXPECT_EQ(world.job(id).newest()->result, Result::lost);
}

TEST(NextTest, AnUnknownWalltimeFreezesForAWeek) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  world.happen(LinkDown{link});
  for (int hour = 0; hour < 7 * 24; ++hour) world.pass(hours(1), seconds(10));
  EXPECT_EQ(world.state_of(id), JobState::running);
  world.pass(minutes(16));
  EXPECT_EQ(world.state_of(id), JobState::waiting);
}

TEST(NextTest, AConnectedAgentThatSaysNothingFor30SecondsIsSilentToo) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  world.pass(minutes(10));
  EXPECT_FALSE(world.state.site(0).up);
  EXPECT_EQ(world.state_of(id), JobState::running);
  world.alive(link);
  EXPECT_TRUE(world.state.site(0).up);
  world.pass(seconds(20));
  EXPECT_EQ(world.state_of(id), JobState::running) << "the lease begins anew when the agent is back";
}

TEST(NextTest, APilotSilentWhileItsAgentIsAliveIsLostWithin90Seconds) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  for (int i = 0; i < 14; ++i) {
    world.pass(seconds(5));
    world.alive(link);
    EXPECT_EQ(world.state_of(id), JobState::running);
  }
  for (int i = 0; i < 4; ++i) {
    world.pass(seconds(5));
    world.alive(link);
  }
  EXPECT_THAT(world.stopped(link), ElementsAre("digits-1.1"));
  EXPECT_EQ(world.job(id).newest()->number, 2);
  EXPECT_EQ(world.job(id).crashes, 0);
  EXPECT_EQ(world.job(id).losses, 1);
}

TEST(NextTest, AHeartbeatKeepsTheLease) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  for (int i = 0; i < 60; ++i) {
    world.pass(seconds(10));
    world.alive(link, {"digits-1.1"});
  }
  EXPECT_EQ(world.state_of(id), JobState::running);
  EXPECT_EQ(world.job(id).attempts.size(), 1u);
}

TEST(NextTest, AHubThatWasStoppedBlamesNobody) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  world.pass(seconds(5));
  world.alive(link, {"digits-1.1"});
  world.now += minutes(30);  // no ticks
  world.happen(Tick{});
  EXPECT_EQ(world.state_of(id), JobState::running);
  EXPECT_TRUE(world.state.site(0).up);
}

TEST(NextTest, AtMostFiveLossesThenItFailed) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  for (int n = 1; n <= 5; ++n) {
    world.end(link, "digits-1." + std::to_string(n), Outcome::lost);
    EXPECT_EQ(world.state_of(id), JobState::waiting) << n;
    world.pass(seconds(25));
    world.alive(link);
    world.settle();
    EXPECT_EQ(world.state_of(id), JobState::assigned) << n;
  }
  world.end(link, "digits-1.6", Outcome::lost);
  EXPECT_EQ(world.state_of(id), JobState::failed);
  EXPECT_THAT(world.change(id, Verb::cancel).body, HasSubstr("nothing to cancel"));
}

TEST(NextTest, TimedOutWithACheckpointResumesAtTheSameSiteAsLongAsItGetsFurther) {
  World world;
  const auto here = world.connect("here");
  const auto id = world.submit();
  world.connect("there");
  for (int n = 1; n <= 12; ++n) {
    const auto attempt = "digits-1." + std::to_string(n);
    world.start(here, attempt);
    world.end(here, attempt, Outcome::timed_out, static_cast<std::uint64_t>(10 * n), true);
    EXPECT_EQ(world.state_of(id), JobState::assigned) << attempt;
    EXPECT_TRUE(world.job(id).newest()->resume);
    EXPECT_EQ(world.job(id).newest()->site, 0u);
  }
  world.end(here, "digits-1.13", Outcome::timed_out, 120, true);
  EXPECT_EQ(world.state_of(id), JobState::failed) << "no progress is a crash";
}

TEST(NextTest, AStaleAttemptsCommitCountsIfThereIsNoneYetAndStopsTheNewerOne) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  for (int i = 0; i < 20; ++i) {
    world.pass(seconds(5));
    world.alive(link);
  }
  world.start(link, "digits-1.2");
  world.sent.clear();
  world.end(link, "digits-1.1", Outcome::finished);
  EXPECT_EQ(world.state_of(id), JobState::finished);
  EXPECT_EQ(world.job(id).committed, 1u);
  EXPECT_THAT(world.stopped(link), ElementsAre("digits-1.2"));
  world.end(link, "digits-1.2", Outcome::finished);
  EXPECT_EQ(world.job(id).committed, 1u) << "the first commit wins";
  world.pass(seconds(5));
  ASSERT_EQ(world.told<message::Discard>(link).size(), 1u);
  EXPECT_EQ(world.told<message::Discard>(link)[0].attempts[0].text(), "digits-1.2");
}

TEST(NextTest, WhatAPersonCancelledDoesNotCount) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  EXPECT_EQ(world.change(id, Verb::cancel).status, 200);
  EXPECT_THAT(world.stopped(link), ElementsAre("digits-1.1"));
  world.end(link, "digits-1.1", Outcome::finished);
  EXPECT_EQ(world.state_of(id), JobState::cancelled);
  EXPECT_EQ(world.change(id, Verb::cancel).status, 200) << "twice is harmless";
}

TEST(NextTest, WhatASiteDoesNotAnswerInTimeMayBeAskedAgain) {
  World world;
  const auto link = world.connect("here");
  AskSite asked;
  asked.job = world.submit();
  asked.name = "m.jsonl";
  world.start(link, "digits-1.1");
  EXPECT_EQ(world.ask(asked).status, 0) << "the site has to be asked";
  const auto request = world.last_request();
  world.pass(std::chrono::seconds(15));
  EXPECT_EQ(world.replies.at(request).status, 503);
  EXPECT_THAT(world.replies.at(request).body, HasSubstr("did not answer within 10 seconds: try again"));
}

TEST(NextTest, HoldAndRelease) {
  World world;
  const auto id = world.submit();
  EXPECT_EQ(world.change(id, Verb::release).status, 409);
  EXPECT_EQ(world.change(id, Verb::hold).status, 200);
  const auto link = world.connect("here");
  EXPECT_THAT(world.carried(link), IsEmpty());
  EXPECT_THAT(world.why(id), HasSubstr("held by anna"));
  EXPECT_EQ(world.change(id, Verb::release).status, 200);
  EXPECT_THAT(world.carried(link), ElementsAre("digits-1.1"));
  EXPECT_EQ(world.change(id, Verb::hold).status, 200) << "also while it is only queued there";
  EXPECT_THAT(world.stopped(link), ElementsAre("digits-1.1"));
  world.change(id, Verb::release);
  world.start(link, "digits-1.2");
  EXPECT_EQ(world.change(id, Verb::hold).status, 409);
}

TEST(NextTest, MessagesAboutAttemptsOfOthersAreIgnoredAndNoted) {
  World world;
  const auto here = world.connect("here");
  const auto id = world.submit();
  const auto there = world.connect("there");
  world.end(there, "digits-1.1", Outcome::finished);
  world.end(there, "digits-1.2", Outcome::finished);
  world.end(there, "digits-9.1", Outcome::finished);
  EXPECT_EQ(world.state_of(id), JobState::assigned);
  ASSERT_EQ(world.state.changes().notes.size(), 3u);
  EXPECT_THAT(world.state.changes().notes[0].what,
              HasSubstr("site there spoke of digits-1.1, which is at site here"));
  EXPECT_THAT(world.state.changes().notes[1].what, HasSubstr("never was"));
  world.end(here, "digits-1.1", Outcome::finished);
  EXPECT_EQ(world.state_of(id), JobState::finished);
}

TEST(NextTest, EachFactCountsOnceHoweverOftenItComes) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit(job_json("digits", "\"retry\": {\"crashes\": 9}"));
  message::Ended ended;
  ended.attempt = message::AttemptId::parse("digits-1.1");
  ended.outcome = Outcome::failed;
  for (int i = 0; i < 3; ++i) world.say(link, message::Facts{0, {ended}});
  EXPECT_EQ(world.job(id).crashes, 1);
  EXPECT_EQ(world.told<message::Seen>(link).back().seen, 1u);
  world.say(link, message::Facts{5, {ended}});
  EXPECT_THAT(world.told<message::Goodbye>(link).at(0).reason, HasSubstr("facts 1 to 4 are missing"));
  EXPECT_THAT(world.closed, ElementsAre(link));
}

TEST(NextTest, ARefusedJobGoesElsewhereAndBackOnlyWhenTheSiteFileChanged) {
  World world;
  const auto here = world.connect("here");
  const auto id = world.submit();
  world.tell(here, {message::Refused{message::AttemptId::parse("digits-1.1"), "not my team"}});
  EXPECT_EQ(world.state_of(id), JobState::waiting);
  EXPECT_THAT(world.why(id), HasSubstr("the site refused it: not my team"));
  world.happen(LinkDown{here});
  const auto again = world.connect("here");
  EXPECT_THAT(world.carried(again), IsEmpty());
  world.happen(LinkDown{again});
  const auto changed = world.connect("here", site_text("here", "\n# changed\n"));
  EXPECT_THAT(world.carried(changed), ElementsAre("digits-1.2"));
}

TEST(NextTest, AReconnectedAgentIsToldAllThatItIsToHave) {
  World world;
  const auto link = world.connect("here");
  world.submit(job_json("a"));
  world.submit(job_json("b"));
  world.end(link, "a-1.1", Outcome::finished);
  world.happen(LinkDown{link});
  const auto again = world.connect("here");
  EXPECT_THAT(world.wanted(again), ElementsAre("b-1.1"));
  EXPECT_EQ(world.told<message::Welcome>(again).at(0).seen, 1u);
}

TEST(NextTest, ALostSpoolLosesWhatTheAgentDoesNotName) {
  World world;
  const auto link = world.connect("here");
  for (const auto* name : {"a", "b", "c"}) world.submit(job_json(name));
  world.start(link, "a-1.1");
  world.start(link, "b-1.1");
  world.happen(LinkDown{link});
  const auto again = world.connect("here", "", {message::AttemptId::parse("a-1.1")}, "another-box");
  EXPECT_EQ(world.state_of("a-1"), JobState::running);
  EXPECT_EQ(world.state_of("b-1"), JobState::waiting);
  EXPECT_EQ(world.state_of("c-1"), JobState::assigned) << "it was never taken, so it is simply sent again";
  EXPECT_EQ(world.told<message::Welcome>(again).at(0).seen, 0u);
}

TEST(NextTest, WhoMaySpeakForASite) {
  World world;
  const auto hello = [&](const Caller& caller, const std::string& site, int protocol = message::protocol) {
    const LinkId link = 1000 + world.closed.size();
    world.happen(LinkUp{link, caller});
    message::Hello said;
    said.protocol = protocol;
    said.site = site;
    said.site_file = site_text("x");
    said.outbox = "o";
    world.say(link, said);
    const auto goodbyes = world.told<message::Goodbye>(link);
    return goodbyes.empty() ? std::string("welcome") : goodbyes[0].reason;
  };
  EXPECT_THAT(hello({"bob", "", ""}, "here"), HasSubstr("not for site here"));
  EXPECT_THAT(hello({"anna", "", "there"}, "here"), HasSubstr("not for site here"));
  EXPECT_THAT(hello({"anna", "", ""}, "../x"), HasSubstr("cannot be a site's name"));
  EXPECT_THAT(hello({"anna", "", ""}, "here", 2), HasSubstr("protocol 2"));
  EXPECT_EQ(hello({"anna", "", "here"}, "here"), "welcome");
}

TEST(NextTest, ASecondAgentOfASiteIsTurnedAwayTheSameOneComingBackIsNot) {
  World world;
  const auto first = world.connect("here");
  const auto second = world.connect("here", "", {}, "another-box");
  EXPECT_THAT(world.told<message::Goodbye>(second).at(0).reason, HasSubstr("has another agent"));
  const auto again = world.connect("here");
  EXPECT_THAT(world.told<message::Goodbye>(first), Not(IsEmpty()));
  EXPECT_THAT(world.told<message::Welcome>(again), Not(IsEmpty()));
}

TEST(NextTest, AnAgentThatDoesNotGreetIsTurnedAway) {
  World world;
  world.happen(LinkUp{7, {"anna", "", ""}});
  world.alive(7);
  EXPECT_THAT(world.told<message::Goodbye>(7).at(0).reason, HasSubstr("Hello first"));
  const auto link = world.connect("here");
  world.say(link, message::Hello{});
  EXPECT_THAT(world.told<message::Goodbye>(link).at(0).reason, HasSubstr("twice"));
}

TEST(NextTest, ASiteFileThatCannotBeReadIsSaidToTheAgent) {
  World world;
  const auto link = world.connect("here", "version = 1\nnmae = \"here\"\n");
  EXPECT_THAT(world.told<message::Goodbye>(link).at(0).reason, HasSubstr("did you mean"));
}

TEST(NextTest, WhatIsRunningUnwantedIsStoppedAgain) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  world.start(link, "digits-1.1");
  world.change(id, Verb::cancel);
  world.sent.clear();
  world.alive(link, {"digits-1.1"});
  EXPECT_THAT(world.stopped(link), ElementsAre("digits-1.1"));
}

TEST(NextTest, ACommandThatWasNotHeardIsRepeated) {
  World world;
  const auto link = world.connect("here");
  world.submit();
  for (int i = 0; i < 13; ++i) {
    world.pass(seconds(5));
    world.alive(link);
  }
  EXPECT_THAT(world.carried(link), ElementsAre("digits-1.1", "digits-1.1"));
}

// --- tokens ---

// IDs of the tokens that somebody sees.
std::vector<std::string> tokens_seen(World& world, const std::string& user) {
  const auto answer = formats::parse_json(world.ask(ListTokens{}, {user, "", ""}).body, "reply");
  std::vector<std::string> ids;
  for (const auto& token : answer.find("tokens")->array()) ids.push_back(token.find("id")->text());
  return ids;
}

TEST(NextTest, TokensAreSeenByTheirUsersAndAllOfThemByTheHubsOwner) {
  World world;
  const auto made = formats::parse_json(world.ask(AddToken{"bob", "clic"}).body, "reply");
  world.ask(AddToken{"eve", ""});
  world.ask(AddSite{"far", "", "", "", 0});
  EXPECT_EQ(tokens_seen(world, "anna").size(), 3u);
  EXPECT_THAT(tokens_seen(world, "bob"), ElementsAre(made.find("id")->text()));
  EXPECT_THAT(tokens_seen(world, "kim"), IsEmpty());
  const auto all = world.ask(ListTokens{}).body;
  EXPECT_THAT(all, HasSubstr(R"("user":"bob","team":"clic","site":"","added":1800000000,"used":null)"));
  EXPECT_THAT(all, HasSubstr(R"("user":"anna","team":"","site":"far")"));
  for (const auto& [hash, token] : world.state.tokens()) EXPECT_THAT(all, Not(HasSubstr(hash)));
}

TEST(NextTest, ATokenIsRevokedByItsUserOrTheHubsOwnerAndByNobodyElse) {
  World world;
  world.ask(AddToken{"bob", ""});
  world.ask(AddToken{"bob", ""});
  const auto ids = tokens_seen(world, "bob");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_THAT(world.ask(RemoveToken{ids[0]}, {"eve", "", ""}).body,
              HasSubstr("there is no token \\\"" + ids[0] + "\\\": see longship token ls"));
  EXPECT_EQ(world.ask(RemoveToken{ids[0].substr(0, 11)}).status, 404);
  EXPECT_EQ(world.ask(RemoveToken{""}).status, 404);
  EXPECT_EQ(world.ask(RemoveToken{ids[0]}, {"bob", "", ""}).status, 200);
  EXPECT_EQ(world.ask(RemoveToken{ids[1]}).status, 200);
  EXPECT_THAT(world.state.tokens(), IsEmpty());
  EXPECT_EQ(world.ask(RemoveToken{ids[1]}).status, 404);
}

TEST(NextTest, AnAgentWhoseTokenIsRevokedIsCutOff) {
  World world;
  world.ask(AddSite{"far", "", "", "", 0});
  const auto [hash, token] = *world.state.tokens().begin();
  world.happen(LinkUp{77, {"anna", "", "far", hash}});
  const auto other = world.connect("here");
  EXPECT_EQ(world.ask(RemoveToken{std::string(token_id(hash))}).status, 200);
  EXPECT_THAT(world.closed, ElementsAre(77));
  EXPECT_EQ(world.told<message::Goodbye>(77).at(0).reason, "this token was revoked");
  EXPECT_TRUE(world.state.links.contains(other));
}

TEST(NextTest, WhenATokenWasUsedIsKeptToTheHour) {
  World world;
  world.ask(AddToken{"bob", ""});
  const auto hash = world.state.tokens().begin()->first;
  const auto used = [&] { return world.state.tokens().begin()->second.used; };
  world.state.committed();
  world.happen(TokensUsed{{hash, "somebody's that was revoked meanwhile"}});
  const auto first = world.now;
  EXPECT_EQ(used(), first);
  world.state.committed();
  world.now += minutes(59);
  world.happen(TokensUsed{{hash}});
  EXPECT_EQ(used(), first);
  EXPECT_TRUE(world.state.changes().empty());
  world.now += minutes(1);
  world.happen(TokensUsed{{hash}});
  EXPECT_EQ(used(), world.now);
}

}  // namespace
}  // namespace longship::hub
