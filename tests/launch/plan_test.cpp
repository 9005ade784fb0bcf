// SPDX-License-Identifier: Apache-2.0
#include "launch/plan.h"

#include <gmock/gmock.h>

#include "expect.h"

namespace longship::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan sample() {
  Plan plan;
  plan.command = {"python3", "train.py", "--name", "a \"quoted\"\nword"};
  plan.environment = {{"A", "1"}, {"EMPTY", ""}};
  plan.ranks = {2, 1};
  plan.threads_per_rank = 3;
  plan.bind = false;
  plan.directory = "/job";
  plan.output = "/runs/x/logs";
  plan.record = "/runs/x/record";
  plan.secret = std::string(64, 'a');
  plan.grace = std::chrono::milliseconds(1234);
  plan.mpi = true;
  Boxed boxed;
  boxed.spec.root = "/images/x.sqfs";
  boxed.spec.binds = {{"/a", "/b", true, false}, {"/c", "/d", false, true}};
  boxed.spec.home = false;
  boxed.spec.private_tmp = true;
  boxed.spec.writable = box::Writable::temporary;
  boxed.spec.working_directory = "/w";
  boxed.environment = {{"PATH", "/bin"}};
  plan.box = boxed;
  return plan;
}

TEST(Plan, SurvivesTheWayToANode) {
  const auto text = to_json(sample());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "it travels as one line";
  const auto plan = plan_from_json(text);
  EXPECT_EQ(to_json(plan), text);
  EXPECT_EQ(plan.command, sample().command);
  EXPECT_EQ(plan.grace, sample().grace);
  EXPECT_TRUE(plan.mpi);
  ASSERT_TRUE(plan.box);
  EXPECT_EQ(plan.box->spec.binds[1].to, "/d");
  EXPECT_TRUE(plan.box->spec.binds[1].optional);
  EXPECT_EQ(plan.box->spec.writable, box::Writable::temporary);
}

TEST(Plan, WithoutABoxStaysWithout) {
  auto plan = sample();
  plan.box.reset();
  EXPECT_FALSE(plan_from_json(to_json(plan)).box);
}

TEST(Plan, UnknownKeyIsNamed) {
  EXPECT_THAT(message_of([] { (void)plan_from_json(R"({"comand": []})"); }), HasSubstr("comand"));
}

TEST(Plan, CountsRanksNodeByNode) {
  EXPECT_EQ(sample().nodes(), 2);
  EXPECT_EQ(sample().size(), 3);
  EXPECT_EQ(sample().first_rank(0), 0);
  EXPECT_EQ(sample().first_rank(1), 2);
}

TEST(Spread, IsAsEvenAsItGoes) {
  EXPECT_THAT(spread(4, 2), ElementsAre(2, 2));
  EXPECT_THAT(spread(5, 3), ElementsAre(2, 2, 1));
  EXPECT_THAT(spread(1, 1), ElementsAre(1));
}

TEST(Secret, IsNeverTheSameTwice) {
  const auto secret = make_secret();
  EXPECT_THAT(secret, testing::MatchesRegex("[0-9a-f]*"));
  EXPECT_EQ(secret.size(), 64u);
  EXPECT_NE(secret, make_secret());
}

}  // namespace
}  // namespace longship::launch
