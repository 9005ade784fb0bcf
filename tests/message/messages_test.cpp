// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "expect.h"
#include "samples.h"

namespace longship::message {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(MessagesTest, EveryMessageToAPilotReadsBackAsItWasWritten) {
  EXPECT_EQ(decode_to_pilot(encode(to_pilot_samples())), to_pilot_samples());
  EXPECT_TRUE(decode_to_pilot(encode(std::vector<ToPilot>())).empty());
}

TEST(MessagesTest, EveryMessageOfAPilotReadsBackAsItWasWritten) {
  EXPECT_EQ(decode_from_pilot(encode(from_pilot_samples())), from_pilot_samples());
}

TEST(MessagesTest, EveryFactReadsBackAsItWasWritten) {
  for (const auto& fact : fact_samples()) {
    EXPECT_EQ(decode_fact(encode(fact)), fact);
    EXPECT_EQ(attempt_of(fact).text(), "digits-7.2");
  }
}

TEST(MessagesTest, EveryMessageOfAnAgentReadsBackAsItWasWritten) {
  for (const auto& message : from_agent_samples()) EXPECT_EQ(decode_from_agent(encode(message)), message);
}

TEST(MessagesTest, EveryMessageOfAHubReadsBackAsItWasWritten) {
  for (const auto& message : from_hub_samples()) EXPECT_EQ(decode_from_hub(encode(message)), message);
}

TEST(MessagesTest, ALossThatIsNoNumberTravelsToo) {
  const std::vector<FromPilot> beat = {Beat{{}, {1, 2, {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}}}}};
  const auto back = std::get<Beat>(decode_from_pilot(encode(beat)).at(0));
  EXPECT_TRUE(std::isnan(back.metrics.values[0].second));
  EXPECT_EQ(back.metrics.values[1].second, INFINITY);
  EXPECT_EQ(back.metrics.values[2].second, -INFINITY);
}

TEST(MessagesTest, KeysOfANewerPeerArePassedOver) {
  const auto read =
      decode_to_pilot(R"([{"kind":"stop","attempt":"x-1.1","reason":"cancelled","colour":[1,{}]}])");
  EXPECT_EQ(std::get<Stop>(read.at(0)), (Stop{{"x-1", 1}, StopReason::cancelled}));
}

TEST(MessagesTest, AKindThatIsNotKnownIsNamed) {
  EXPECT_EQ(
      message_of([] { (void)decode_to_pilot(R"([{"kind":"dance"}])"); }),
      "to_pilot:1: kind: no message to a pilot is called \"dance\"; the agent may be newer than this pilot");
  EXPECT_THAT(message_of([] { (void)decode_from_pilot(R"([{"kind":"take"}])"); }),
              HasSubstr("called \"take\""));
  EXPECT_THAT(message_of([] { (void)decode_fact(R"({"kind":"take"})"); }), HasSubstr("no fact is called"));
  const auto frame = std::string("\x0d\0\0\0", 4) + R"({"kind":"ox"})";
  EXPECT_THAT(message_of([&] { (void)decode_from_agent(frame); }), HasSubstr("no message of an agent"));
  EXPECT_THAT(message_of([&] { (void)decode_from_hub(frame); }), HasSubstr("no message of a hub"));
}

TEST(MessagesTest, WhatIsMissingOrOfTheWrongKindIsNamedByItsKey) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[{}]", "from_pilot: kind: missing"},
      {"{}", "from_pilot:1: expected a list, found a table"},
      {"[1]", "expected a table, found 1"},
      {R"([{"kind":7}])", "kind: expected text in quotes, found 7"},
      {R"([{"kind":"running"}])", "attempt: missing"},
      {R"([{"kind":"running","attempt":1}])", "attempt: expected an attempt, found 1"},
      {R"([{"kind":"running","attempt":"../x-1.1"}])", "attempt: \"../x-1.1\" is no attempt"},
      {R"([{"kind":"running","attempt":"x-1.1","ranks":0}])", "ranks: expected an integer from 1"},
      {R"([{"kind":"running","attempt":"x-1.1","nodes":"a"}])", "nodes: expected a list"},
      {R"([{"kind":"beat","running":{}}])", "running: expected a list"},
      {R"([{"kind":"beat","metrics":3}])", "metrics: expected a table"},
      {R"([{"kind":"beat","metrics":{"step":-1}}])", "metrics.step: expected an integer from 0"},
      {R"([{"kind":"beat","metrics":{"values":{}}}])", "metrics.values: expected a list"},
      {R"([{"kind":"beat","metrics":{"values":[["a"]]}}])", "metrics.values: expected pairs"},
      {R"([{"kind":"beat","metrics":{"values":[["a","b"]]}}])",
       "metrics.values: expected a number, found \"b\""},
      {R"([{"kind":"ended","attempt":"x-1.1"}])", "outcome: missing"},
      {R"([{"kind":"ended","attempt":"x-1.1","outcome":"finish"}])", "outcome: expected one of finished"},
      {R"([{"kind":"ended","attempt":"x-1.1","outcome":"lost","outputs":[{}]}])", "outputs.name: missing"},
      {R"([{"kind":"ended","attempt":"x-1.1","outcome":"lost","outputs":4}])", "outputs: expected a list"},
  };
  for (const auto& [text, expected] : wrong)
    EXPECT_THAT(message_of([&] { (void)decode_from_pilot(text); }), HasSubstr(expected)) << text;
}

TEST(MessagesTest, ADigestOfABundleIsOne) {
  EXPECT_THAT(
      message_of([] {
        (void)decode_to_pilot(
            R"([{"kind":"take","assignment":{"attempt":"x-1.1","job":"{}","code":{"digest":"../../x","size":1}}}])");
      }),
      HasSubstr("code.digest: expected sha256:"));
}

TEST(MessagesTest, WhereverTheJsonEndsTooEarlyIsAnError) {
  const auto whole = encode(from_pilot_samples());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW((void)decode_from_pilot(std::string_view(whole).substr(0, size)), Error) << size;
}

TEST(MessagesTest, AByteChangedIsAnErrorOrAnotherMessageAndNeverMore) {
  auto text = encode(to_pilot_samples());
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const char other : {'\0', '"', '{', '\xff', '9'}) {
      const char was = std::exchange(text[at], other);
      try {
        (void)decode_to_pilot(text);
      } catch (const Error&) {
      }
      text[at] = was;
    }
}

TEST(AttemptIdTest, ReadsBackAsItIsShown) {
  for (const auto& id : {AttemptId{"digits-7", 2}, {"a-1", 1}, {"a-b-c-9223372036854775807", 2147483647}})
    EXPECT_EQ(AttemptId::parse(id.text()), id);
}

TEST(AttemptIdTest, EverythingElseIsAnError) {
  const std::string_view wrong[] = {"",
                                    ".",
                                    "..",
                                    "a",
                                    "a-1",
                                    "a.1",
                                    "a-1.",
                                    "a-1.0",
                                    "a-1.01",
                                    "a-01.1",
                                    "a-0.1",
                                    "a-1.-1",
                                    "a-1.+1",
                                    "a-1.1 ",
                                    " a-1.1",
                                    "a-1.1.1",
                                    "A-1.1",
                                    "-1.1",
                                    "../a-1.1",
                                    "a/b-1.1",
                                    "a-1/../b-1.1",
                                    "a-1.2147483648",
                                    "a-9223372036854775808.1",
                                    "a_b-1.1",
                                    "a-1x.1",
                                    "a-1.1x",
                                    std::string_view("a\0b-1.1", 7)};
  for (const auto text : wrong)
    EXPECT_THAT(message_of([&] { (void)AttemptId::parse(text); }), HasSubstr("is no attempt")) << text;
}

TEST(AttemptIdTest, AHigherNumberIsTheNewerOne) {
  EXPECT_LT((AttemptId{"a-1", 2}), (AttemptId{"a-1", 10}));
}

}  // namespace
}  // namespace longship::message
