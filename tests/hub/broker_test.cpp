// SPDX-License-Identifier: Apache-2.0
#include "hub/broker.h"

#include "world.h"

namespace longship::hub {
namespace {

using message::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string large = "\"needs\": {\"nodes\": 2}";

TEST(BrokerTest, LargeJobsFillTheQueuesWindowAndNoMore) {
  World world;
  const auto link = world.connect("here");
  world.submit(job_json("big", large), 5);
  EXPECT_THAT(world.carried(link), ElementsAre("big-1.1", "big-2.1"));
  EXPECT_THAT(world.why("big-3"), HasSubstr("waits for room: 2 of 2"));
  world.start(link, "big-1.1");
  EXPECT_THAT(world.carried(link), ElementsAre("big-1.1", "big-2.1", "big-3.1"));
}

TEST(BrokerTest, SmallJobsHaveALargeWindowOfTheirOwn) {
  World world;
  const auto link = world.connect("here");
  world.submit(job_json("big", large), 3);
  world.submit(job_json("small"), 5000);
  EXPECT_EQ(world.carried(link).size(), 2u + small_window);
}

TEST(BrokerTest, OwnersTakeTurnsAndEachOnesJobsGoInOrder) {
  World world;
  world.submit(job_json("a", large), 4, "anna");
  world.submit(job_json("b", large), 2, "bob");
  const auto link = world.connect("here", site_text("here"));
  std::vector<std::string> order = world.carried(link);
  for (int n = 0; n < 4; ++n) {
    const auto now = world.carried(link);
    world.end(link, now[static_cast<std::size_t>(n)], Outcome::finished);
  }
  EXPECT_THAT(world.carried(link), ElementsAre("a-1.1", "b-1.1", "a-2.1", "b-2.1", "a-3.1", "a-4.1"));
}

TEST(BrokerTest, OneThatFitsNowhereKeepsNobodyWaiting) {
  World world;
  const auto link = world.connect("here");
  const auto huge = world.submit(job_json("huge", "\"needs\": {\"nodes\": 400}"));
  world.submit(job_json("small"));
  EXPECT_THAT(world.carried(link), ElementsAre("small-1.1"));
  EXPECT_THAT(world.why(huge),
              HasSubstr("site here, queue general: needs 400 nodes, queue general has at most 16"));
}

TEST(BrokerTest, TheEmptiestQueueThatFitsGetsTheJob) {
  World world;
  const auto here = world.connect("here");
  const auto there = world.connect("there");
  world.submit(job_json("a", large), 4);
  EXPECT_THAT(world.carried(here), ElementsAre("a-1.1", "a-3.1"));
  EXPECT_THAT(world.carried(there), ElementsAre("a-2.1", "a-4.1"));
}

TEST(BrokerTest, AJobForOneSiteWaitsForIt) {
  World world;
  const auto here = world.connect("here");
  const auto there = world.connect("there");
  world.happen(LinkDown{there});
  Submit submit;
  submit.job = job_json();
  submit.site = "there";
  world.ask(submit);
  EXPECT_THAT(world.carried(here), IsEmpty());
  const auto places = world.ask(Why{"digits-1"}).body;
  EXPECT_THAT(places, HasSubstr("is for site there only"));
  EXPECT_THAT(world.why("digits-1"), HasSubstr("site there, queue general: the site is silent"));
  submit.site = "nowhere";
  EXPECT_EQ(world.ask(submit).status, 400);
}

TEST(BrokerTest, ImagesAppearAndTheRightVariantIsChosen) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit(job_json("ring", "\"image\": \"ring\""));
  EXPECT_THAT(world.carried(link), IsEmpty());
  EXPECT_THAT(world.why(id), HasSubstr("ring"));
  store::Image arm, x86;
  arm.name = "ring:arm";
  arm.facts.architecture = "aarch64";
  arm.root = x86.root = "sha256:" + std::string(64, 'a');
  x86.name = "ring:x86";
  x86.facts.architecture = "x86_64";
  world.happen(ImagesFound{{arm}});
  world.settle();
  EXPECT_THAT(world.carried(link), IsEmpty());
  world.happen(ImagesFound{{arm, x86}});
  world.settle();
  ASSERT_THAT(world.carried(link), ElementsAre("ring-1.1"));
  EXPECT_THAT(world.told<message::Carry>(link)[0].assignments[0].image, HasSubstr("ring:x86"));
}

TEST(BrokerTest, WithoutSitesItSaysWhatToDo) {
  World world;
  EXPECT_THAT(world.why(world.submit()), HasSubstr("no site is known"));
  world.ask(AddSite{"far", "", "", "", 0});
  EXPECT_THAT(world.why("digits-1"), HasSubstr("site far: its agent has not been heard of yet"));
}

TEST(BrokerTest, TheBatchSystemsOwnWordsAreTheReason) {
  World world;
  const auto link = world.connect("here");
  const auto id = world.submit();
  const auto attempt = message::AttemptId::parse("digits-1.1");
  world.tell(link, {message::Queued{attempt, "p1", "77"}});
  message::Alive alive;
  alive.waiting = {{attempt, "(Priority)", 1'800'000'500}};
  world.say(link, alive);
  EXPECT_EQ(world.why(id), "(Priority)");
  EXPECT_THAT(world.ask(ShowJob{id}).body, HasSubstr("\"expected_start\":1800000500"));
}

TEST(BrokerTest, ManyKindsThatFitNowhereCostOnePassAtMostSoMuch) {
  World world;
  for (int n = 0; n < 20; ++n)
    world.submit(
        job_json("huge", "\"needs\": {\"nodes\": 400}, \"env\": {\"N\": \"" + std::to_string(n) + "\"}"));
  const auto link = world.connect("here");
  world.submit(job_json("small"));
  EXPECT_THAT(world.carried(link), ElementsAre("small-1.1"));
}

}  // namespace
}  // namespace longship::hub
