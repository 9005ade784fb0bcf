// SPDX-License-Identifier: Apache-2.0
#include "agent/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "expect.h"
#include "papers.h"

namespace longship::agent {
namespace {

class OutboxTest : public testing::Test {
 protected:
  OutboxTest() { spool.make(); }
  Outbox open() {
    return Outbox(spool, [this] { return fmt::format("name{}", ++names); });
  }
  static std::vector<message::Fact> facts(int from, int to) {
    std::vector<message::Fact> made;
    for (int i = from; i < to; ++i)
      made.push_back(message::Preparing{AttemptId::parse(fmt::format("digits-{}.1", i + 1))});
    return made;
  }
  TemporaryDirectory place{"outbox-test"};
  message::Spool spool{place.path() / "spool"};
  int names = 0;
};

TEST_F(OutboxTest, FactsAreSentFromTheFirstThatWasNotSeen) {
  auto outbox = open();
  outbox.append(facts(0, 10));
  EXPECT_TRUE(outbox.next(100, 1 << 20).facts.empty()) << "before the hub said what it has seen";
  outbox.send_from(4);
  auto sent = outbox.next(3, 1 << 20);
  EXPECT_EQ(sent.first, 4u);
  EXPECT_EQ(sent.facts.size(), 3u);
  EXPECT_EQ(message::attempt_of(message::decode_fact(sent.facts[0])).text(), "digits-5.1");
  outbox.append(facts(10, 12));
  EXPECT_EQ(outbox.next(100, 1 << 20).facts.size(), 5u);
  EXPECT_TRUE(outbox.next(100, 1 << 20).facts.empty());
  outbox.send_from(0);  // a hub that forgot
  EXPECT_EQ(outbox.next(100, 1 << 20).facts.size(), 12u);
}

TEST_F(OutboxTest, ItKeepsItsNameAndItsFacts) {
  {
    auto first = open();
    EXPECT_TRUE(first.is_new());
    first.append(facts(0, 3));
  }
  auto again = open();
  EXPECT_FALSE(again.is_new());
  EXPECT_EQ(again.name(), "name1");
  std::size_t count = 0;
  again.replay([&](std::uint64_t number, const message::Fact&) { EXPECT_EQ(number, count++); });
  EXPECT_EQ(count, 3u);
}

TEST_F(OutboxTest, ALostLogBeginsAnewUnderAnotherName) {
  open().append(facts(0, 3));
  std::filesystem::remove(spool.outbox());
  auto another = open();
  EXPECT_TRUE(another.is_new());
  EXPECT_EQ(another.name(), "name2");
  EXPECT_EQ(another.size(), 0u);
  another.append(facts(0, 1));
  std::filesystem::remove(spool.outbox_name());
  EXPECT_EQ(open().name(), "name3");
  EXPECT_EQ(open().size(), 0u);
}

TEST_F(OutboxTest, ATornTailIsCutOff) {
  open().append(facts(0, 3));
  const auto size = std::filesystem::file_size(spool.outbox());
  std::filesystem::resize_file(spool.outbox(), size - 5);
  auto again = open();
  EXPECT_EQ(again.size(), 2u);
  again.append(facts(2, 3));
  again.send_from(0);
  EXPECT_EQ(again.next(100, 1 << 20).facts.size(), 3u);
}

TEST_F(OutboxTest, AHubThatHasSeenMoreThanThereIsIsAnError) {
  auto outbox = open();
  outbox.append(facts(0, 3));
  EXPECT_THAT(message_of([&] { outbox.send_from(4); }),
              testing::HasSubstr("was put back to an earlier state"));
}

}  // namespace
}  // namespace longship::agent
