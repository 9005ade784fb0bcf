// SPDX-License-Identifier: Apache-2.0
// All-reduce within a node: the same result wherever the tensors lie and however the others reach them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <cstring>

#include "collective/direct.h"
#include "collective/shortcut.h"
#include "collective/staged.h"
#include "worlds.h"

namespace longship::collective {
namespace {

enum class Where { shared, private_, mixed };

std::string where_name(const testing::TestParamInfo<Where>& info) {
  const char* const names[] = {"InSharedMemory", "Private", "Mixed"};
  return names[static_cast<int>(info.param)];
}

// Tensors of one rank: shared ones live as long as the segment.
class Tensors {
 public:
  Tensors(Segment& segment, Where where) : segment_(segment), where_(where) {}

  std::span<float> make(std::size_t count) {
    const bool shared = where_ == Where::shared || (where_ == Where::mixed && segment_.rank() % 2 == 0);
    if (!shared) return private_.emplace_back(count);
    auto* const data = segment_.memory()->allocate(count * sizeof(float));
    return {reinterpret_cast<float*>(data), count};
  }

 private:
  Segment& segment_;
  Where where_;
  std::deque<std::vector<float>> private_;
};

float value_of(int rank, std::size_t i) {
  return static_cast<float>((rank + 1) * static_cast<int>(i % 1000));
}

float sum_of(int ranks, std::size_t i) {
  return static_cast<float>(ranks * (ranks + 1) / 2) * static_cast<float>(i % 1000);
}

void fill(std::span<float> tensor, int rank) {
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = value_of(rank, i);
}

void expect_sum(std::span<const float> tensor, int size) {
  for (std::size_t i = 0; i < tensor.size(); ++i) ASSERT_EQ(tensor[i], sum_of(size, i)) << i;
}

Values values_of(std::span<float> tensor) {
  return {Type::f32, reinterpret_cast<std::byte*>(tensor.data()), tensor.size()};
}

class SharedAllreduceTest : public testing::TestWithParam<Where> {
 protected:
  static void on_ranks(int size, const std::function<void(StreamTransport&, Segment&, Tensors&)>& work) {
    on_every_rank(Spread::one_node, size, [&](StreamTransport& transport) {
      Segment& segment = *transport.common_segment();
      Tensors tensors(segment, GetParam());
      work(transport, segment, tensors);
    });
  }
};

TEST_P(SharedAllreduceTest, EverySizeAndNumberOfRanks) {
  for (const int size : {2, 3, 4, 5})
    on_ranks(size, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
      for (const std::size_t count : {1u, 1000u, 4097u, 40'001u, 100'000u, 1'000'003u}) {
        const auto tensor = tensors.make(count);
        fill(tensor, segment.rank());
        drive(transport, direct_allreduce(segment.lane(Lane::engine), {values_of(tensor)}, Op::sum));
        expect_sum(tensor, size);
      }
    });
}

TEST_P(SharedAllreduceTest, SeveralTensorsAreReducedAsOne) {
  on_ranks(3, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<std::span<float>> made;
      Pieces pieces;
      for (const std::size_t count : {5u, 0u, 40'000u, 1u, 270'001u, 3u}) {
        made.push_back(tensors.make(count));
        fill(made.back(), segment.rank());
        pieces.push_back(values_of(made.back()));
      }
      drive(transport, direct_allreduce(segment.lane(Lane::engine), pieces, Op::sum));
      for (const auto tensor : made) expect_sum(tensor, 3);
    }
  });
}

TEST_P(SharedAllreduceTest, AnAverageIsDivided) {
  on_ranks(2, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
    const auto tensor = tensors.make(100'000);
    fill(tensor, segment.rank());
    drive(transport, direct_allreduce(segment.lane(Lane::engine), {values_of(tensor)}, Op::average));
    for (std::size_t i = 0; i < tensor.size(); ++i) ASSERT_EQ(tensor[i], sum_of(2, i) / 2);
  });
}

TEST_P(SharedAllreduceTest, ManyInARowOfChangingSize) {
  on_ranks(4, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
    const auto tensor = tensors.make(200'000);
    for (std::size_t turn = 0; turn < 60; ++turn) {
      const auto part = tensor.first(1 + turn * turn * 50);
      fill(part, segment.rank());
      drive(transport, direct_allreduce(segment.lane(Lane::engine), {values_of(part)}, Op::sum));
      expect_sum(part, 4);
    }
  });
}

using Outcome = Shortcut::Outcome;

Announcement announced(const std::string& name, std::size_t count, Kind kind = Kind::allreduce) {
  Announcement what;
  what.kind = kind;
  what.name = name;
  what.count = count;
  return what;
}

TEST_P(SharedAllreduceTest, TheShortcutGivesTheSame) {
  for (const int size : {2, 3, LaneHead::most_who_tell + 2})
    on_ranks(size, [&](StreamTransport&, Segment& segment, Tensors& tensors) {
      Shortcut shortcut(segment, true, std::chrono::seconds(60));
      for (const std::size_t count : {1u, 3u, 1000u, 1025u, 4096u, 4097u, 100'000u, 300'000u}) {
        const auto tensor = tensors.make(count);
        for (int turn = 0; turn < 5; ++turn) {
          fill(tensor, segment.rank());
          ASSERT_EQ(shortcut.run(announced("t", count), reinterpret_cast<std::byte*>(tensor.data())),
                    Outcome::done);
          expect_sum(tensor, size);
        }
        EXPECT_EQ(shortcut.run(announced("b", 0, Kind::barrier), nullptr), Outcome::done);
      }
    });
}

// The others do its part, which a NaN shows: who saw it is who reduced.
TEST_P(SharedAllreduceTest, ARankThatHoldsBackReducesNothing) {
  for (const int size : {2, 3})
    on_ranks(size, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
      const bool holds_back = segment.rank() == 0;
      Restraint restraint{&holds_back};
      const Lane lane = segment.lane(Lane::engine);
      for (std::uint64_t turn = 1; turn <= 5; ++turn) {
        const auto tensor = tensors.make(300'000);
        fill(tensor, segment.rank());
        if (segment.rank() == 1)
          for (std::size_t i = 1; i < tensor.size(); i += 1000)
            tensor[i] = std::numeric_limits<float>::quiet_NaN();
        bool found = false;
        drive(transport, direct_allreduce(lane, {values_of(tensor)}, Op::sum, &found, &restraint));
        EXPECT_TRUE(found);
        for (std::size_t i = 0; i < tensor.size(); i += 1000) {
          ASSERT_EQ(tensor[i], sum_of(size, i));
          ASSERT_NE(tensor[i + 1], tensor[i + 1]);
        }
        EXPECT_TRUE(!holds_back || lane.own().nan_in.load() == 0);
        EXPECT_EQ(restraint.is_left_to_others, holds_back && GetParam() == Where::shared);
      }
    });
}

// Whichever rank reduced the part that it is in.
TEST_P(SharedAllreduceTest, ANanIsSeenByAllRanksAndOnlyOnce) {
  for (const int size : {2, 3})
    on_ranks(size, [&](StreamTransport& transport, Segment& segment, Tensors& tensors) {
      Shortcut shortcut(segment, true, std::chrono::seconds(60));
      for (const std::size_t count : {10u, 3000u, 15'000u, 300'000u}) {
        const auto tensor = tensors.make(count);
        for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
          bool found = false;
          fill(tensor, segment.rank());
          if (segment.rank() == 1) tensor[at] = std::numeric_limits<float>::quiet_NaN();
          EXPECT_EQ(shortcut.run(announced("t", count), values_of(tensor).data), Outcome::done_with_nan);
          drive(transport,
                direct_allreduce(segment.lane(Lane::engine), {values_of(tensor)}, Op::sum, &found));
          EXPECT_TRUE(found) << count << " " << at;
          fill(tensor, segment.rank());
          EXPECT_EQ(shortcut.run(announced("t", count), values_of(tensor).data), Outcome::done);
          drive(transport,
                direct_allreduce(segment.lane(Lane::engine), {values_of(tensor)}, Op::sum, &found));
          EXPECT_FALSE(found) << count << " " << at;
        }
      }
    });
}

// Addresses are given out again, and then stand for another place in the arena.
TEST(SharedMemoryTest, WhatComesAndGoesIsFoundWhereItIsNow) {
  on_every_rank(Spread::one_node, 2, [&](StreamTransport& transport) {
    Segment& segment = *transport.common_segment();
    Shortcut shortcut(segment, true, std::chrono::seconds(60));
    Memory& memory = *segment.memory();
    std::vector<std::byte*> kept;
    for (std::size_t turn = 0; turn < 100; ++turn) {
      const std::size_t count = 5000 + turn * 37 % 11 * 2048;
      std::byte* const data = memory.allocate(count * sizeof(float));
      const std::span tensor(reinterpret_cast<float*>(data), count);
      fill(tensor, segment.rank());
      ASSERT_EQ(shortcut.run(announced("t", count), data), Outcome::done);
      expect_sum(tensor, 2);
      memory.release(data);
      // So that the ranks' places differ, and with them what an address stands for.
      if (turn % 3 == static_cast<std::size_t>(segment.rank())) kept.push_back(memory.allocate(4096));
    }
    for (std::byte* const one : kept) memory.release(one);
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, SharedAllreduceTest,
                         testing::Values(Where::shared, Where::private_, Where::mixed), where_name);

// ---- The shortcut's meetings ----

class ShortcutTest : public testing::Test {
 protected:
  ShortcutTest() : wirings_(wirings(Spread::one_node, 2)) {}
  Segment& segment(int rank) { return *wirings_[static_cast<std::size_t>(rank)].segment; }
  std::vector<Wiring> wirings_;
};

TEST_F(ShortcutTest, WhoComesAloneGoesAgainAndLeavesNothingBehind) {
  Shortcut first(segment(0), false, std::chrono::microseconds(1)),
      second(segment(1), false, std::chrono::seconds(60));
  float a = 1, b = 2;
  EXPECT_EQ(first.run(announced("t", 1), reinterpret_cast<std::byte*>(&a)), Outcome::not_done);
  EXPECT_EQ(a, 1);
  // The second would wait for a minute, but knows that the first was here for the same and has gone.
  EXPECT_EQ(second.run(announced("t", 1), reinterpret_cast<std::byte*>(&b)), Outcome::not_done);
  EXPECT_EQ(b, 2);
}

TEST_F(ShortcutTest, DifferentPurposesDoNotMeet) {
  std::thread other([&] {
    Shortcut shortcut(segment(1), true, std::chrono::milliseconds(300));
    float b = 2;
    EXPECT_EQ(shortcut.run(announced("u", 1), reinterpret_cast<std::byte*>(&b)), Outcome::not_done);
  });
  Shortcut shortcut(segment(0), true, std::chrono::milliseconds(300));
  float a = 1;
  EXPECT_EQ(shortcut.run(announced("t", 1), reinterpret_cast<std::byte*>(&a)), Outcome::not_done);
  other.join();
}

TEST_F(ShortcutTest, RanksThatSeeDifferentNumbersOfCoresDoNotMeetWhereTheyWouldGoDifferentWays) {
  std::vector<float> a(3000, 1), b(3000, 2);
  std::thread other([&] {
    Shortcut shortcut(segment(1), false, std::chrono::milliseconds(300));
    EXPECT_EQ(shortcut.run(announced("t", 3000), reinterpret_cast<std::byte*>(b.data())), Outcome::not_done);
  });
  Shortcut shortcut(segment(0), true, std::chrono::milliseconds(300));
  EXPECT_EQ(shortcut.run(announced("t", 3000), reinterpret_cast<std::byte*>(a.data())), Outcome::not_done);
  other.join();
  EXPECT_EQ(a, std::vector<float>(3000, 1));
  EXPECT_EQ(b, std::vector<float>(3000, 2));
}

// A rank that is done may already have come to the next one when another, slower, still reads what it staged.
TEST_F(ShortcutTest, WhatAnotherRankStillReadsIsNotOverwrittenByTheNextCall) {
  std::vector<float> a(1000, 1), b(1000, 2);
  Staged quick(segment(0).lane(Lane::shortcut), {values_of(a)}, Op::sum);
  Staged slow(segment(1).lane(Lane::shortcut), {values_of(b)}, Op::sum);
  EXPECT_FALSE(slow.advance());
  EXPECT_TRUE(quick.advance());
  std::vector<float> next(1000, 100);
  Shortcut shortcut(segment(0), true, std::chrono::milliseconds(1));
  EXPECT_EQ(shortcut.run(announced("t", 1000), reinterpret_cast<std::byte*>(next.data())), Outcome::not_done);
  EXPECT_TRUE(slow.advance());
  EXPECT_EQ(a, std::vector<float>(1000, 3));
  EXPECT_EQ(b, std::vector<float>(1000, 3));
}

TEST_F(ShortcutTest, ALostRankIsNamed) {
  segment(0).set_lost(1);
  Shortcut shortcut(segment(0), true, std::chrono::milliseconds(1));
  float a = 1;
  EXPECT_EQ(shortcut.run(announced("t", 1), reinterpret_cast<std::byte*>(&a)),
            Outcome::not_done);  // the engine says why
}

}  // namespace
}  // namespace longship::collective
