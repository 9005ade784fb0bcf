// SPDX-License-Identifier: Apache-2.0
#include "site/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::site {
namespace {

using testing::HasSubstr;

const Asked job{.nodes = 4,
                .ranks = 16,
                .gpus = 8,
                .walltime = 7200,
                .memory = std::int64_t{90} << 30,
                .account = "ml4hep",
                .team = "clic",
                .name = "gan3d"};

struct Case {
  const char* text;
  bool accepted;
};

TEST(ExpressionTest, IsTrueOrFalseAsItReads) {
  for (const auto& [text, accepted] : std::initializer_list<Case>{
           {"nodes == 4", true},
           {"nodes != 4", false},
           {"nodes < 4", false},
           {"nodes <= 4", true},
           {"nodes > 3", true},
           {"nodes >= 17", false},
           {"nodes>=4", true},
           {"ranks == 16 and gpus == 8", true},
           {"walltime <= 2h", true},
           {"walltime <= '1h59m'", false},
           {"walltime < 02:00:01", true},
           {"memory >= 90GiB", true},
           {"memory > \"96.7GB\"", false},
           {"team == \"clic\"", true},
           {"team != 'clic'", false},
           {"account == 'ml4hep' and name == 'gan3d'", true},
           {"nodes == 1 or nodes == 4 and gpus == 0", false},  // "and" binds closer
           {"(nodes == 1 or nodes == 4) and gpus == 8", true},
           {"nodes == 4 or nodes == 1 and gpus == 0", true},
           {"not nodes == 4", false},
           {"not not nodes == 4", true},
           {"not (nodes == 4 and team == 'atlas')", true},
           {"not nodes == 1 and not nodes == 2", true},
       })
    EXPECT_EQ(Expression(text).accepts(job), accepted) << text;
}

TEST(ExpressionTest, NothingSaidAcceptsEverything) {
  EXPECT_TRUE(Expression().accepts(job));
  EXPECT_EQ(Expression().facts(job), "");
}

TEST(ExpressionTest, TellsTheFactsThatItAskedForEachOnce) {
  EXPECT_EQ(
      Expression("nodes > 17 or nodes == 1 and (team == 'x' or walltime < 1h and memory > 1TB)").facts(job),
      "nodes = 4, team = \"clic\", walltime = 2h, memory = 97 GB");
}

struct Wrong {
  std::string text, message;
};

TEST(ExpressionTest, MistakesAreNamedWithTheirColumn) {
  for (const auto& [text, message] : std::initializer_list<Wrong>{
           {"",
            "at column 1 of '': expected one of nodes, ranks, gpus, walltime, memory, account, team, name, "
            "found "
            "the end"},
           {"node >= 4",
            "at column 1 of 'node >= 4': \"node\" is none of nodes, ranks, gpus, walltime, memory, "
            "account, team, name: did you mean \"nodes\"?"},
           {"nodes = 4", "at column 7 of 'nodes = 4': expected ==, !=, <, <=, > or >=, found \"=\""},
           {"nodes >= many", "at column 10 of 'nodes >= many': expected a number for nodes, found \"many\""},
           {"nodes >= 4 und",
            "at column 12 of 'nodes >= 4 und': expected \"and\", \"or\" or the end, found \"und\""},
           {"nodes >=", "at column 9 of 'nodes >=': expected a number for nodes, found the end"},
           {"(nodes >= 4", "at column 12 of '(nodes >= 4': expected \")\", found the end"},
           {"team < 'x'", "at column 1 of 'team < 'x'': team is a text: it is compared with == or !="},
           {"team == x", "at column 9 of 'team == x': expected a text in quotes for team, found \"x\""},
           {"team == 'x", "at column 9 of 'team == 'x': this quote is never closed"},
           {"walltime < 5",
            "at column 12 of 'walltime < 5': \"5\" is not a time: it needs a unit, such as 5m or 5s"},
           {"memory < 5G",
            "at column 10 of 'memory < 5G': \"5G\" can be read in two ways: write GiB (powers of 1024) "
            "or GB (powers of 1000)"},
           {"nodes < 99999999999999999999",
            "at column 9 of 'nodes < 99999999999999999999': expected a number for nodes, found "
            "\"99999999999999999999\""},
       })
    EXPECT_EQ(message_of([&] { Expression expression(text); }), message);
}

TEST(ExpressionTest, DepthAndLengthHaveLimits) {
  const auto deep = std::string(100'0, '(') + "nodes == 1" + std::string(100'0, ')');
  EXPECT_THAT(message_of([&] { Expression expression(deep); }), HasSubstr("nested too deeply"));
  EXPECT_THAT(message_of([] { Expression expression(std::string(5000, ' ')); }),
              HasSubstr("longer than 4096"));
}

}  // namespace
}  // namespace longship::site
