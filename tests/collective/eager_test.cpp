// SPDX-License-Identifier: Apache-2.0
// Tiny all-reduces whose values travel with their announcements.
#include "collective/eager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engines.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;

Announcement sum_of(std::uint64_t count, Type type = Type::f32) {
  return {Kind::allreduce, type, Op::sum, 0, count, "w"};
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(Eager, OnlyWhatIsSmallAndPlainIsSentAlong) {
  EXPECT_TRUE(Eager::fits(sum_of(512), 4));
  EXPECT_FALSE(Eager::fits(sum_of(513), 4));
  EXPECT_FALSE(Eager::fits(sum_of(512), 33)) << "rank 0 would have too much";
  EXPECT_FALSE(Eager::fits(sum_of(0), 4));
  EXPECT_FALSE(Eager::fits(sum_of(1, Type::boolean), 4));
  const auto other = [](auto change) {
    Announcement one = sum_of(1);
    change(one);
    return Eager::fits(one, 4);
  };
  EXPECT_FALSE(other([](auto& one) { one.kind = Kind::broadcast; }));
  EXPECT_FALSE(other([](auto& one) { one.op = Op::adasum; }));
  EXPECT_FALSE(other([](auto& one) { one.set = 1; }));
  EXPECT_FALSE(other([](auto& one) { one.group = "g"; }));
  EXPECT_FALSE(other([](auto& one) { one.wire = Type::f16; }));
  EXPECT_FALSE(other([](auto& one) { one.device = true; }));
}

TEST(Eager, AnswersOnceAllAreThereAndForgetsThem) {
  Eager eager;
  EXPECT_TRUE(eager.reduced(sum_of(2), bytes_of({1, 2}), 3).empty());
  eager.keep(2, "w", bytes_of({10, 20}));
  EXPECT_TRUE(eager.reduced(sum_of(2), bytes_of({1, 2}), 3).empty()) << "one is missing";
  eager.keep(2, "w", bytes_of({10, 20}));
  eager.keep(1, "w", bytes_of({100}));
  EXPECT_TRUE(eager.reduced(sum_of(2), bytes_of({1, 2}), 3).empty()) << "one is short";
  EXPECT_TRUE(eager.empty());
  eager.keep(2, "w", bytes_of({10, 20}));
  eager.keep(1, "w", bytes_of({100, 200}));
  EXPECT_EQ(eager.reduced(sum_of(2), bytes_of({1, 2}), 3), bytes_of({111, 222}));
  EXPECT_TRUE(eager.empty());
}

class EagerTest : public testing::TestWithParam<Spread> {};

TEST_P(EagerTest, TheEngineGivesWhatItAlwaysGave) {
  for (int size = 1; size <= 5; ++size)
    on_engines(GetParam(), size, [&](Driver& driver, int rank) {
      const auto n = static_cast<float>(size);
      for (int step = 0; step < 20; ++step)
        for (const std::size_t count : {1u, 511u, 512u, 513u}) {  // around the limit
          std::vector<float> sum(count, static_cast<float>(rank + step)), average = sum, most = sum;
          Request asked = request(Kind::allreduce, "s", sum);
          asked.what.prescale = 2;
          asked.what.postscale = 0.5;
          EXPECT_EQ(driver.run(asked).error, "");
          EXPECT_EQ(sum, std::vector<float>(count, n * (n - 1) / 2 + n * static_cast<float>(step)));
          EXPECT_EQ(driver.run(request(Kind::allreduce, "a", average, Op::average)).error, "");
          EXPECT_EQ(average.back(), (n - 1) / 2 + static_cast<float>(step));
          EXPECT_EQ(driver.run(request(Kind::allreduce, "m", most, Op::max)).error, "");
          EXPECT_EQ(most.front(), n - 1 + static_cast<float>(step));
        }
    });
}

// Announced alone by some and among others by the rest: some values are there, some are not.
TEST_P(EagerTest, RanksThatAnnounceDifferentlyAgreeAllTheSame) {
  on_engines(GetParam(), 3, [](Driver& driver, int rank) {
    for (int step = 0; step < 30; ++step) {
      std::vector<std::vector<float>> tensors(6, std::vector<float>(8, 1.0f));
      std::vector<Handle> handles;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        Request asked = request(Kind::allreduce, "t" + std::to_string(i), tensors[i]);
        if (rank == 1)
          EXPECT_EQ(driver.wait(driver.submit(asked)).error, "");
        else
          handles.push_back(driver.submit(asked));
      }
      for (const Handle handle : handles) EXPECT_EQ(driver.wait(handle).error, "");
      for (const auto& tensor : tensors) ASSERT_EQ(tensor, std::vector<float>(8, 3.0f)) << step;
    }
  });
}

TEST_P(EagerTest, WhatIsRefusedLeavesNothingBehind) {
  on_engines(GetParam(), 3, [](Driver& driver, int rank) {
    std::vector<float> none;
    for (int step = 0; step < 5; ++step) {
      std::vector<float> values(rank == 2 ? 3 : 4, 1.0f), fine(4, 1.0f);
      EXPECT_THAT(driver.run(request(Kind::allreduce, "w", values)).error, HasSubstr("ranks do not agree"));
      EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
      EXPECT_EQ(driver.run(request(Kind::allreduce, "w", fine)).error, "");
      EXPECT_EQ(fine, std::vector<float>(4, 3.0f));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Spreads, EagerTest,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::two_nodes),
                         spread_name);

}  // namespace
}  // namespace longship::collective
