// SPDX-License-Identifier: Apache-2.0
// f32 that travels as f16 or bf16: the conversions, and every schedule over the transport that does them.
#include "collective/narrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>

#include "collective/half.h"
#include "collective/narrow_transport.h"
#include "collective/reduce.h"
#include "engines.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;

const std::vector<Type> narrow_types = {Type::f16, Type::bf16};

float rounded(Type to, float value) {
  round_to(to, {&value, 1});
  return value;
}

TEST(Narrow, EveryNarrowValueIsWidenedAndComesBack) {
  for (const Type type : narrow_types)
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto narrowed = static_cast<std::uint16_t>(bits);
      float value = 0;
      widen(type, reinterpret_cast<const std::byte*>(&narrowed), {&value, 1});
      std::uint16_t back = 0;
      narrow(type, {&value, 1}, reinterpret_cast<std::byte*>(&back));
      if (!std::isnan(value)) {
        ASSERT_EQ(back, narrowed) << name_of(type);
      }
    }
}

TEST(Narrow, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(rounded(Type::f16, 2049), 2048);
  EXPECT_EQ(rounded(Type::f16, 2051), 2052);
  EXPECT_EQ(rounded(Type::f16, 2049.5f), 2050);
  EXPECT_EQ(rounded(Type::bf16, 257), 256);
  EXPECT_EQ(rounded(Type::bf16, 259), 260);
  EXPECT_EQ(rounded(Type::f16, 65519), 65504);
  EXPECT_EQ(rounded(Type::f16, 65520), std::numeric_limits<float>::infinity());
  for (const Type type : narrow_types) {
    EXPECT_TRUE(std::isnan(rounded(type, std::nanf(""))));
    EXPECT_EQ(rounded(type, -std::numeric_limits<float>::infinity()),
              -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::signbit(rounded(type, -0.0f)));
  }
}

TEST(Narrow, AllInstructionsGiveTheSameBits) {
  std::mt19937 random(1);
  std::vector<float> values(10'007);
  for (auto& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    std::memcpy(&value, &bits, sizeof value);
    if (std::isnan(value)) value = 1;
  }
  for (const Type type : narrow_types) {
    auto best = values, portable = values;
    round_to(type, best);
    use_at_most(Instructions::portable);
    round_to(type, portable);
    use_at_most(Instructions::avx512);
    EXPECT_EQ(best, portable) << name_of(type);
  }
}

// ---- On the wire ----

// Not to be had in 16 bits, so that each rounding is seen.
std::vector<float> gradient(std::size_t count, int rank) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i) + 1.7f * static_cast<float>(rank)) + 1.5f;
  return values;
}

std::vector<float> reduced(Op op, std::size_t count, int size) {
  auto result = gradient(count, 0);
  for (int rank = 1; rank < size; ++rank)
    combine(Type::f32, op, result.data(), result.data(), gradient(count, rank).data(), count);
  if (op == Op::average) divide(Type::f32, result.data(), count, size);
  return result;
}

// The roundings on the way: of each of at most eight partial results, relative to a sum that only grows.
double tolerance(Type wire) {
  return 8 * (wire == Type::f16 ? 0x1p-11 : 0x1p-8);
}

class NarrowTest : public testing::TestWithParam<Spread> {};

TEST_P(NarrowTest, EveryScheduleReducesAsInFullAndAlikeOnAllRanks) {
  for (const int size : {2, 3, 5})
    for (const Type wire : narrow_types) {
      std::mutex mutex;
      std::map<std::pair<Tag, int>, std::vector<float>> results;
      on_every_rank(GetParam(), size, [&](StreamTransport& transport) {
        Tag tag = 100;
        for (const std::size_t count : {7u, 1500u, 40'003u})
          for (const Op op : {Op::sum, Op::average})
            for (const Way way : {Way::tree, Way::halving_doubling, Way::ring}) {
              NarrowTransport narrowed(transport, wire);
              auto values = gradient(count, transport.rank());
              const Values all{Type::f32, reinterpret_cast<std::byte*>(values.data()), count};
              drive(narrowed, way == Way::tree   ? tree_allreduce(narrowed, ++tag, all, op)
                              : way == Way::ring ? ring_allreduce(narrowed, ++tag, all, op)
                                                 : halving_doubling_allreduce(narrowed, ++tag, all, op));
              round_to(wire, values);
              const auto expected = reduced(op, count, size);
              for (std::size_t i = 0; i < count; ++i)
                ASSERT_NEAR(values[i], expected[i], expected[i] * tolerance(wire)) << name_of(way) << i;
              const std::lock_guard lock(mutex);
              results[{tag, transport.rank()}] = std::move(values);
            }
      });
      for (const auto& [key, values] : results)
        ASSERT_EQ(values, results.at({key.first, 0})) << size << " ranks, operation " << key.first;
    }
}

Request narrowed(Kind kind, const std::string& name, std::vector<float>& values, Type wire, Op op = Op::sum) {
  Request asked = request(kind, name, values, op);
  asked.what.wire = wire;
  return asked;
}

TEST_P(NarrowTest, TheEngineSendsLessAndSumsInFull) {
  for (int size = 1; size <= 5; ++size)
    for (const Type wire : narrow_types)
      on_engines(GetParam(), size, [&](Driver& driver, int rank) {
        for (const std::size_t count : {0u, 5u, 9001u})
          for (const Op op : {Op::sum, Op::average, Op::min}) {
            auto values = gradient(count, rank);
            EXPECT_EQ(driver.run(narrowed(Kind::allreduce, "w", values, wire, op)).error, "");
            const auto expected = reduced(op, count, size);
            for (std::size_t i = 0; i < count; ++i)
              ASSERT_NEAR(values[i], expected[i], expected[i] * tolerance(wire)) << size << " " << count;
          }
      });
}

// Every way that the tuner tries, so hierarchical as well, ends with the same bits on all ranks.
TEST_P(NarrowTest, RanksEndWithTheSameBits) {
  for (int size = 2; size <= 5; ++size)
    on_engines(GetParam(), size, [&](Driver& driver, int rank) {
      for (int step = 0; step < 25; ++step) {
        auto values = gradient(1003, rank);
        EXPECT_EQ(driver.run(narrowed(Kind::allreduce, "w", values, Type::bf16, Op::average)).error, "");
        auto least = values, most = values;
        EXPECT_EQ(driver.run(request(Kind::allreduce, "least", least, Op::min)).error, "");
        EXPECT_EQ(driver.run(request(Kind::allreduce, "most", most, Op::max)).error, "");
        ASSERT_EQ(least, most) << size << " ranks, step " << step;
      }
    });
}

TEST_P(NarrowTest, SeveralAreFusedAndReduceScatterIsNarrowedToo) {
  on_engines(GetParam(), 3, [&](Driver& driver, int rank) {
    std::vector<std::vector<float>> tensors;
    for (std::size_t i = 0; i < 20; ++i) tensors.push_back(gradient(100 * i, rank));
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      handles.push_back(driver.submit(narrowed(Kind::allreduce, "t" + std::to_string(i), tensors[i],
                                               i % 2 == 0 ? Type::f16 : Type::bf16)));
    for (const Handle handle : handles) EXPECT_EQ(driver.wait(handle).error, "");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto expected = reduced(Op::sum, 100 * i, 3);
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_NEAR(tensors[i][k], expected[k], expected[k] * tolerance(Type::bf16));
    }
    auto values = gradient(9, rank);
    const auto part = floats_of(driver.run(narrowed(Kind::reducescatter, "s", values, Type::f16)));
    ASSERT_EQ(part.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(part[i], reduced(Op::sum, 9, 3)[3 * static_cast<std::size_t>(rank) + i], 0.02);
  });
}

TEST_P(NarrowTest, RanksThatDifferInWhatTheySendAreTold) {
  on_engines(GetParam(), 2, [](Driver& driver, int rank) {
    std::vector<float> values(4), none;
    EXPECT_THAT(driver.run(narrowed(Kind::allreduce, "w", values, rank == 0 ? Type::bf16 : Type::f32)).error,
                HasSubstr("all-reduce (sum) of 4 f32 sent as bf16 by rank 0"));
    EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
  });
}

INSTANTIATE_TEST_SUITE_P(Spreads, NarrowTest,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::two_nodes),
                         spread_name);

}  // namespace
}  // namespace longship::collective
