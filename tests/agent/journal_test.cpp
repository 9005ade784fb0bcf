// SPDX-License-Identifier: Apache-2.0
#include "agent/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"
#include "papers.h"

namespace longship::agent {
namespace {

TEST(JournalTest, EveryEntryReadsBackTheSame) {
  const Made made{"p1", {"q", 2, 3, 4, 5, 6'000'000'000, "clic"}, std::chrono::seconds(90)};
  const auto id = AttemptId::parse("digits-1.1");
  const auto payloads = encode({Accepted{assignment("digits-1.1", "60")}, made, Submitted{"p1", "77"},
                                Returned{"p1", id}, Abandoned{"p2"}, Gone{"p1"}});
  std::vector<Entry> entries;
  for (const auto& payload : payloads)
    for (auto& entry : decode_entries(payload)) entries.push_back(std::move(entry));
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(std::get<Accepted>(entries[0]).assignment.job, assignment("digits-1.1", "60").job);
  EXPECT_EQ(std::get<Made>(entries[1]).shape, made.shape);
  EXPECT_EQ(std::get<Made>(entries[1]).walltime, made.walltime);
  EXPECT_EQ(std::get<Submitted>(entries[2]).batch_job, "77");
  EXPECT_EQ(std::get<Returned>(entries[3]).attempt, id);
  EXPECT_EQ(std::get<Abandoned>(entries[4]).pilot, "p2");
  EXPECT_EQ(std::get<Gone>(entries[5]).pilot, "p1");
}

TEST(JournalTest, ManyAttemptsAreSeveralRecords) {
  std::vector<Entry> many;
  for (int i = 1; i <= 2500; ++i) many.push_back(Accepted{assignment(fmt::format("noop-{}.1", i))});
  const auto payloads = encode(many);
  EXPECT_GE(payloads.size(), 3u);
  std::size_t count = 0;
  for (const auto& payload : payloads) count += decode_entries(payload).size();
  EXPECT_EQ(count, 2500u);
}

TEST(JournalTest, WhatAnotherVersionWroteIsNamed) {
  EXPECT_EQ(message_of([] { static_cast<void>(decode_entries("X")); }),
            "journal: a record of a kind that this version does not know");
  EXPECT_EQ(message_of([] { static_cast<void>(decode_entries("")); }), "journal: an empty record");
  EXPECT_THAT(message_of([] { static_cast<void>(decode_entries(R"(E[{"kind":"sunk","pilot":"p1"}])")); }),
              testing::HasSubstr("an entry \"sunk\" that this version does not know"));
}

}  // namespace
}  // namespace longship::agent
