// SPDX-License-Identifier: Apache-2.0
#include "sweep/study_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::sweep {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view head = R"(version = 1
name = "lr"
command = ["train", "{lr}"]
objective = { metric = "loss" }
)";
constexpr std::string_view least_space = "[space]\nlr = { low = 0.1, high = 1.0 }\n";

StudyFile read(std::string_view text) {
  return parse_study_file(text, "study.toml", "/tmp");
}

std::string complaint(const std::string& text) {
  return message_of([&] { (void)read(text); });
}

std::string complaint_about_space(const std::string& lines) {
  return complaint(std::string(head) + "[space]\n" + lines);
}

TEST(StudyFileTest, AWholeFileIsUnderstood) {
  const auto study = read(R"(version = 1
name = "gan-lr"
command = ["python3", "train.py", "--lr", "{lr}"]
values_file = "values.json"
seed = 7
parallel = 8
retries = 2
begin = "studies/before"
rules = ["width * batch <= 4096"]

[[objective]]
metric = "loss"
[[objective]]
metric = "accuracy"
direction = "maximize"
file = "metrics.jsonl"

[sampler]
name = "tpe"
startup = 20
multivariate = false

[budget]
trials = 100
node_hours = 2.5
time = "3h"

[space]
momentum = { low = 0.0, high = 0.99, when = { optimizer = ["sgd"] } }
lr = { low = 1e-4, high = 1e-1, log = true }
width = { low = 16, high = 64, step = 16 }
optimizer = ["adam", "sgd"]
batch = 32

[[first]]
lr = 1e-3
optimizer = "sgd"
)");
  EXPECT_EQ(study.name, "gan-lr");
  EXPECT_EQ(study.parallel, 8);
  EXPECT_EQ(study.retries, 2);
  EXPECT_EQ(study.seed, 7u);
  EXPECT_EQ(study.begin, "/tmp/studies/before");
  EXPECT_EQ(study.sampler.options, "startup=20,multivariate=0");
  EXPECT_THAT(directions(study), ElementsAre(0, 1));
  EXPECT_EQ(study.objectives[1].file, "metrics.jsonl");
  EXPECT_EQ(study.budget.trials, 100u);
  EXPECT_EQ(study.budget.time, hours(3));
  // momentum stands behind what it depends on.
  EXPECT_THAT(study.space.names(), ElementsAre("batch", "lr", "width", "optimizer", "momentum"));
  EXPECT_EQ(study.space.find("lr")->domain, study::real(1e-4, 1e-1, true));
  EXPECT_EQ(study.space.find("width")->domain, study::integer(16, 64, false, 16));
  EXPECT_EQ(study.first.size(), 1u);
  EXPECT_EQ(make_pruner(study), nullptr);
}

TEST(StudyFileTest, WhatAJournalKeepsReadsBackTheSame) {
  const auto study = read(std::string(head) + std::string(least_space));
  const auto again = study_from_json(formats::dump_json(study.document), "journal", "/elsewhere");
  EXPECT_EQ(again.space.find("lr")->domain, study.space.find("lr")->domain);
  EXPECT_EQ(again.command, study.command);
}

TEST(StudyFileTest, WhatIsWrongIsNamedWithItsLine) {
  EXPECT_EQ(complaint(std::string(head) + "smapler = \"tpe\"\n" + std::string(least_space)),
            "study.toml:5: smapler: unknown key: did you mean \"sampler\"?");
  EXPECT_EQ(complaint(std::string(head) + "sampler = \"tpa\"\n" + std::string(least_space)),
            "study.toml:5: sampler: there is no sampler \"tpa\": did you mean \"tpe\"?");
  EXPECT_EQ(
      complaint(std::string(head) + "pruner = { name = \"asha\", facter = 3 }\n" + std::string(least_space)),
      "study.toml:5: pruner: the pruner asha has no option \"facter\": did you mean \"factor\"?");
  EXPECT_EQ(complaint("version = 2\nnew_key = 1\n"),
            "study.toml:1: version: expected 1, found 2: this Longship knows no other");
  EXPECT_THAT(complaint(std::string(head) + "job = \"job.toml\"\n" + std::string(least_space)),
              HasSubstr("a study has either a job"));
  EXPECT_THAT(complaint("version = 1\nname = \"a\"\njob = \"none.toml\"\n[objective]\n[space]\nx = [1]\n"),
              HasSubstr("study.toml:3: job: there is no job file /tmp/none.toml"));
  EXPECT_THAT(complaint("version = 1\nname = \"a\"\ncommand = [\"a\"]\n[space]\nx = [1]\n"),
              HasSubstr("objective"));
  EXPECT_EQ(
      complaint(std::string(head) + "rules = [\"rl < 1\"]\n" + std::string(least_space)),
      "study.toml:5: rules: at column 1 of 'rl < 1': there is no parameter \"rl\": did you mean \"lr\"?");
  EXPECT_EQ(complaint(std::string(head) + std::string(least_space) + "[[first]]\nlr = 3.0\n"),
            "study.toml:8: first[1].lr: expected a real number from 0.1 to 1, found 3");
  EXPECT_THAT(complaint(std::string(head) + "[budget]\ntrials = 0\n" + std::string(least_space)),
              HasSubstr("study.toml:6: budget.trials: expected an integer from 1"));
}

TEST(StudyFileTest, ASpaceThatMakesNoSenseIsRefused) {
  EXPECT_THAT(complaint_about_space(""), HasSubstr("space: nothing to search"));
  EXPECT_THAT(complaint_about_space("batch = 3"), HasSubstr("space: nothing to search"));
  EXPECT_THAT(complaint_about_space("lr = { low = 1.0, high = 0.1 }"),
              HasSubstr("study.toml:6: space.lr: parameter \"lr\": it begins at 1 and ends at 0.1"));
  EXPECT_THAT(complaint_about_space("lr = { low = 0, high = 1, log = true }"), HasSubstr("above 0"));
  EXPECT_THAT(complaint_about_space("lr = { low = nan, high = 1.0 }"), HasSubstr("finite numbers"));
  EXPECT_THAT(complaint_about_space("lr = { low = 0.0, high = inf }"), HasSubstr("finite numbers"));
  EXPECT_THAT(complaint_about_space("lr = { low = 0, high = 1, step = 0 }"),
              HasSubstr("space.lr.step: expected a number above 0"));
  EXPECT_THAT(complaint_about_space("lr = { lo = 0, high = 1 }"), HasSubstr("did you mean \"low\"?"));
  EXPECT_THAT(complaint_about_space("net = []"), HasSubstr("nothing to choose from"));
  EXPECT_THAT(complaint_about_space("net = [\"a\", \"a\"]"), HasSubstr("twice"));
  EXPECT_THAT(complaint_about_space("net = [\"a\", 1]"), HasSubstr("choices are of one kind"));
  EXPECT_THAT(complaint_about_space("net = [[1]]"), HasSubstr("a choice is a text"));
  EXPECT_THAT(complaint_about_space("\"a b\" = [1]"), HasSubstr("letters, digits and underscores"));
  EXPECT_THAT(complaint_about_space("and = [1]"), HasSubstr("a meaning of its own"));
  EXPECT_THAT(complaint_about_space("net = { choices = [1], low = 2 }"), HasSubstr("has no low"));
}

TEST(StudyFileTest, ConditionsNameWhatThereIs) {
  EXPECT_THAT(complaint_about_space("a = { low = 0, high = 1, when = { nte = \"x\" } }\nnet = [\"x\"]"),
              HasSubstr("there is no parameter \"nte\": did you mean \"net\"?"));
  EXPECT_THAT(complaint_about_space("a = { low = 0, high = 1, when = { net = \"sdg\" } }\nnet = [\"sgd\"]"),
              HasSubstr("net is never \"sdg\": did you mean \"sgd\"?"));
  EXPECT_THAT(complaint_about_space("a = { low = 0, high = 1, when = { b = 1 } }\n"
                                    "b = { low = 0, high = 1, when = { a = 1 } }"),
              HasSubstr("it depends on itself, through b"));
}

TEST(SpaceTest, AParameterExistsWhereItsConditionHolds) {
  const auto study = read(std::string(head) + R"([space]
net = ["a", "b"]
depth = { low = 1, high = 3, when = { net = "b" } }
skip = { choices = [true, false], when = { depth = [2, 3] } }
)");
  study::Study search({0});
  search.use(study::make_sampler("random", 1));
  const auto ids = declare(search, study.space);
  int with_depth = 0;
  for (int i = 0; i < 50; ++i) {
    const auto number = search.ask(1);
    const auto values = draw(search, number, study.space, ids);
    EXPECT_EQ(values.find("depth") != nullptr, values.find("net")->text() == "b");
    const bool deep = values.find("depth") != nullptr && values.find("depth")->integer() > 1;
    EXPECT_EQ(values.find("skip") != nullptr, deep);
    with_depth += values.find("depth") != nullptr ? 1 : 0;
    EXPECT_EQ(formats::dump_json(values),
              formats::dump_json(values_of(search.history(), search.history().trial(number))));
    search.tell(number, study::TrialState::complete, {1.0 * i}, 2);
  }
  EXPECT_GT(with_depth, 10);
  EXPECT_LT(with_depth, 40);
}

TEST(SpaceTest, WhatChangedBetweenTwoRunsIsToldApart) {
  const auto before =
      read(std::string(head) + "[space]\nlr = { low = 0.1, high = 1.0 }\nnet = [\"a\"]\nold = [1]\n");
  const auto now =
      read(std::string(head) + "[space]\nlr = { low = 0.1, high = 2.0 }\nnet = [\"b\"]\nnew = [1]\n");
  std::vector<std::string> sentences;
  for (const auto& [sentence, forbidden] : differences(before.space, now.space))
    sentences.push_back(sentence + (forbidden ? "!" : ""));
  EXPECT_THAT(sentences, ElementsAre("lr was a real number from 0.1 to 1 and is a real number from 0.1 to 2",
                                     "net has other choices!", "old is gone!", "new is new!"));
  EXPECT_TRUE(differences(now.space, now.space).empty());
}

}  // namespace
}  // namespace longship::sweep
