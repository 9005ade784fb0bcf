// SPDX-License-Identifier: Apache-2.0
// Every operation, on one to five ranks, however they are spread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "engines.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;
using Counts = std::vector<std::uint64_t>;

// So that nobody leaves before all have asked.
void meet(Driver& driver) {
  std::vector<float> none;
  EXPECT_EQ(driver.run(request(Kind::barrier, "all are here", none)).error, "");
}

class OperationsTest : public testing::TestWithParam<Spread> {
 protected:
  static void on_one_to_five(const std::function<void(Driver&, int rank, int size)>& work) {
    for (int size = 1; size <= 5; ++size)
      on_engines(GetParam(), size, [&](Driver& driver, int rank) { work(driver, rank, size); });
  }
};

TEST_P(OperationsTest, ValuesAreScaledBeforeAndAfter) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    std::vector<float> values(1000, static_cast<float>(rank + 1));
    auto asked = request(Kind::allreduce, "w", values);
    asked.what.prescale = 0.5;
    asked.what.postscale = 10;
    EXPECT_EQ(driver.run(asked).error, "");
    EXPECT_EQ(values, std::vector<float>(1000, 2.5f * static_cast<float>(size * (size + 1))));
  });
}

TEST_P(OperationsTest, BooleansAreAndedAndOred) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    for (const Op op : {Op::sum, Op::max, Op::min, Op::product}) {
      // All say no, rank 0 says yes, all say yes.
      std::array<std::uint8_t, 3> values = {0, static_cast<std::uint8_t>(rank == 0), 1};
      Request asked{{Kind::allreduce, Type::boolean, op, 0, 3, "b"},
                    reinterpret_cast<std::byte*>(values.data())};
      EXPECT_EQ(driver.run(asked).error, "");
      const bool one_is_enough = op == Op::sum || op == Op::max || size == 1;
      EXPECT_EQ(values, (std::array<std::uint8_t, 3>{0, static_cast<std::uint8_t>(one_is_enough), 1}))
          << name_of(op);
    }
  });
}

TEST_P(OperationsTest, AllToAllWithUnequalParts) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    // Rank r sends r + to elements to each rank, all of value 10 r + to.
    std::vector<float> values;
    Request asked = request(Kind::alltoall, "a", values);
    for (int to = 0; to < size; ++to) {
      values.insert(values.end(), static_cast<std::size_t>(rank + to), static_cast<float>(10 * rank + to));
      asked.splits.push_back(static_cast<std::uint64_t>(rank + to));
    }
    asked.data = reinterpret_cast<std::byte*>(values.data());
    asked.what.count = values.size();
    const Result result = driver.run(asked);
    EXPECT_EQ(result.error, "");
    std::vector<float> expected;
    for (int from = 0; from < size; ++from) {
      expected.insert(expected.end(), static_cast<std::size_t>(from + rank),
                      static_cast<float>(10 * from + rank));
      EXPECT_EQ(result.counts[static_cast<std::size_t>(from)], static_cast<std::uint64_t>(from + rank));
    }
    EXPECT_EQ(floats_of(result), expected);
  });
}

TEST_P(OperationsTest, AllToAllInEqualPartsAndPartsThatAreNone) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    std::vector<float> values;
    for (int to = 0; to < size; ++to) values.push_back(static_cast<float>(10 * rank + to));
    const Result result = driver.run(request(Kind::alltoall, "a", values));
    for (int from = 0; from < size; ++from)
      EXPECT_EQ(floats_of(result)[static_cast<std::size_t>(from)], static_cast<float>(10 * from + rank));
    if (size == 1) return;
    values.assign(static_cast<std::size_t>(size) + 1, 0.0f);
    EXPECT_THAT(driver.run(request(Kind::alltoall, "b", values)).error, HasSubstr("equal parts"));
    Request wrong = request(Kind::alltoall, "c", values);
    wrong.splits = {1};
    EXPECT_THAT(driver.run(wrong).error, HasSubstr("the parts for 1 ranks have 1 elements"));
  });
}

TEST_P(OperationsTest, ReduceScatterGivesTheFirstRanksOneRowMore) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    constexpr std::size_t rows = 7, row = 3;
    std::vector<float> values(rows * row);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i) + static_cast<float>(rank);
    for (const Op op : {Op::sum, Op::average}) {
      Request asked = request(Kind::reducescatter, "s", values, op);
      asked.what.row = row;
      asked.what.postscale = 2;
      const Result result = driver.run(asked);
      EXPECT_EQ(result.error, "");
      const auto sizes = static_cast<std::size_t>(size);
      std::size_t begin = 0;
      for (std::size_t r = 0; r < sizes; ++r) {
        const std::size_t mine = (rows / sizes + (r < rows % sizes ? 1 : 0)) * row;
        EXPECT_EQ(result.counts[r], mine);
        if (static_cast<int>(r) < rank) begin += mine;
      }
      const auto part = floats_of(result);
      ASSERT_EQ(part.size(), result.counts[static_cast<std::size_t>(rank)]);
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto sum = static_cast<float>(begin + i) * static_cast<float>(size) +
                         static_cast<float>(size * (size - 1) / 2);
        EXPECT_FLOAT_EQ(part[i], 2 * (op == Op::sum ? sum : sum / static_cast<float>(size)));
      }
      EXPECT_EQ(values.front(), static_cast<float>(rank)) << "the input is only read";
    }
  });
}

TEST_P(OperationsTest, NothingIsFineForEveryKind) {
  on_one_to_five([](Driver& driver, int, int size) {
    std::vector<float> none;
    EXPECT_EQ(driver.run(request(Kind::allreduce, "r", none)).error, "");
    EXPECT_EQ(driver.run(request(Kind::allreduce, "d", none, Op::adasum)).error, "");
    EXPECT_EQ(driver.run(request(Kind::broadcast, "b", none)).error, "");
    EXPECT_EQ(driver.run(request(Kind::allgather, "g", none)).counts, Counts(static_cast<std::size_t>(size)));
    EXPECT_EQ(driver.run(request(Kind::alltoall, "a", none)).counts, Counts(static_cast<std::size_t>(size)));
    EXPECT_EQ(driver.run(request(Kind::reducescatter, "s", none)).counts,
              Counts(static_cast<std::size_t>(size)));
  });
}

// ---- Adasum ----

std::vector<float> adasum_of(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  std::vector<float> sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    sum[i] = static_cast<float>((1 - (aa > 0 ? ab / (2 * aa) : 0)) * static_cast<double>(a[i]) +
                                (1 - (bb > 0 ? ab / (2 * bb) : 0)) * static_cast<double>(b[i]));
  return sum;
}

std::vector<float> gradient(int rank) {
  std::vector<float> values(37);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) + 1.7f * static_cast<float>(rank));
  return values;
}

// As a tree: the surplus over a power of two first, then neighbours, then pairs of neighbours.
std::vector<float> adasum_of_all(int size) {
  const int active = size >= 4 ? 4 : size >= 2 ? 2 : 1;
  std::vector<std::vector<float>> level;
  for (int position = 0; position < active; ++position) {
    const int rank = rank_at(position, size);
    const Folding folding = fold(rank, size);
    level.push_back(folding.has_partner ? adasum_of(gradient(rank), gradient(folding.partner))
                                        : gradient(rank));
  }
  while (level.size() > 1) {
    std::vector<std::vector<float>> above;
    for (std::size_t i = 0; i < level.size(); i += 2) above.push_back(adasum_of(level[i], level[i + 1]));
    level = above;
  }
  return level.front();
}

TEST_P(OperationsTest, AdasumIsTheTreeOfPairwiseSums) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    auto values = gradient(rank);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "w", values, Op::adasum)).error, "");
    const auto expected = adasum_of_all(size);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], 1e-5) << size << " " << i;
  });
}

TEST_P(OperationsTest, AdasumOfEqualGradientsIsOneOfThemAndOfOrthogonalOnesTheirSum) {
  on_one_to_five([](Driver& driver, int rank, int size) {
    std::vector<float> equal(10, 3.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "e", equal, Op::adasum)).error, "");
    for (const float value : equal) EXPECT_NEAR(value, 3, 1e-5);
    std::vector<float> orthogonal(static_cast<std::size_t>(size));
    orthogonal[static_cast<std::size_t>(rank)] = 2;
    EXPECT_EQ(driver.run(request(Kind::allreduce, "o", orthogonal, Op::adasum)).error, "");
    for (const float value : orthogonal) EXPECT_NEAR(value, 2, 1e-5);
  });
}

// ---- Groups, join, sets ----

TEST_P(OperationsTest, AGroupIsDoneOnceAllOfItIsThere) {
  on_one_to_five([](Driver& driver, int, int size) {
    std::vector<float> a(10, 1.0f), b(20, 2.0f);
    std::vector<double> c(5, 3.0);
    const auto in_group = [](Request asked) {
      asked.what.group = "g";
      asked.what.group_size = 3;
      return asked;
    };
    const Handle first = driver.submit(in_group(request(Kind::allreduce, "a", a)));
    const Handle second = driver.submit(in_group(request(Kind::allreduce, "b", b)));
    std::vector<float> alone(1, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "alone", alone)).error, "");
    EXPECT_FALSE(driver.finished(first));
    EXPECT_FALSE(driver.finished(second));
    Request third{{Kind::allreduce, Type::f64, Op::sum, 0, c.size(), "c"},
                  reinterpret_cast<std::byte*>(c.data())};
    EXPECT_EQ(driver.run(in_group(third)).error, "");
    EXPECT_EQ(driver.wait(first).error, "");
    EXPECT_EQ(driver.wait(second).error, "");
    EXPECT_EQ(a.front(), static_cast<float>(size));
    EXPECT_EQ(b.back(), 2.0f * static_cast<float>(size));
    EXPECT_EQ(c.back(), 3.0 * size);
  });
}

TEST_P(OperationsTest, AGroupFailsTogether) {
  on_engines(GetParam(), 3, [](Driver& driver, int rank) {
    std::vector<float> a(10, 1.0f), b(rank == 1 ? 3u : 4u);
    const auto in_group = [](Request asked) {
      asked.what.group = "g";
      asked.what.group_size = 2;
      return asked;
    };
    for (int round = 0; round < 2; ++round) {
      const Handle first = driver.submit(in_group(request(Kind::allreduce, "a", a)));
      const Handle second = driver.submit(in_group(request(Kind::allreduce, "b", b)));
      EXPECT_THAT(driver.wait(first).error, HasSubstr("ranks do not agree on \"b\""));
      EXPECT_THAT(driver.wait(second).error, HasSubstr("ranks do not agree on \"b\""));
    }
    meet(driver);
  });
}

TEST_P(OperationsTest, WhoHasJoinedTakesPartUntilAllHave) {
  for (int size = 2; size <= 5; ++size)
    on_engines(GetParam(), size, [&](Driver& driver, int rank) {
      std::vector<float> none;
      for (int epoch = 0; epoch < 2; ++epoch) {
        for (int step = 0; step <= rank; ++step) {  // rank r has r + 1 batches
          std::vector<float> values(8, 1.0f);
          EXPECT_EQ(driver.run(request(Kind::allreduce, "w" + std::to_string(step), values)).error, "");
          EXPECT_EQ(values, std::vector<float>(8, static_cast<float>(size - step)));
          std::vector<float> least(2, 5.0f);
          EXPECT_EQ(driver.run(request(Kind::allreduce, "m" + std::to_string(step), least, Op::min)).error,
                    "");
          EXPECT_EQ(least.front(), 5.0f);
          const Result gathered = driver.run(request(Kind::allgather, "g" + std::to_string(step), values));
          EXPECT_EQ(gathered.gathered.size(), static_cast<std::size_t>(size - step) * 8 * sizeof(float));
        }
        const Result joined = driver.run(request(Kind::join, std::string(join_name), none));
        EXPECT_EQ(joined.error, "");
        EXPECT_EQ(joined.counts, Counts{static_cast<std::uint64_t>(size - 1)});
      }
    });
}

TEST_P(OperationsTest, ABroadcastFromARankThatHasJoinedFails) {
  on_engines(GetParam(), 2, [](Driver& driver, int rank) {
    std::vector<float> values(3), none;
    if (rank == 1) {
      EXPECT_THAT(driver.run(request(Kind::broadcast, "b", values, Op::sum, 0)).error,
                  HasSubstr("from rank 0, which has joined"));
    }
    EXPECT_EQ(driver.run(request(Kind::join, std::string(join_name), none)).counts, Counts{1});
  });
}

Request set_of(std::vector<int> members) {
  Request asked;
  asked.what.kind = Kind::add_set;
  asked.what.name = "set";
  asked.what.members = std::move(members);
  return asked;
}

TEST_P(OperationsTest, ProcessSetsWorkBesideEachOther) {
  on_engines(GetParam(), 5, [](Driver& driver, int rank) {
    const int even = static_cast<int>(driver.run(set_of({0, 2, 4})).counts.at(0));
    const int odd = static_cast<int>(driver.run(set_of({1, 3})).counts.at(0));
    EXPECT_EQ(even, 1);
    EXPECT_EQ(odd, 2);
    const bool is_even = rank % 2 == 0;
    for (int step = 0; step < 20; ++step) {
      std::vector<float> values(100, static_cast<float>(rank));
      Request asked = request(Kind::allreduce, "same name", values);  // in both sets, and the world
      asked.what.set = is_even ? even : odd;
      EXPECT_EQ(driver.run(asked).error, "");
      EXPECT_EQ(values.back(), is_even ? 6.0f : 4.0f);
      std::vector<float> part(1, static_cast<float>(rank));
      Request gather = request(Kind::allgather, "g", part);
      gather.what.set = asked.what.set;
      if (step == 7) {
        EXPECT_EQ(floats_of(driver.run(gather)),
                  (is_even ? std::vector<float>{0, 2, 4} : std::vector<float>{1, 3}));
      }
    }
    std::vector<float> all(3, 1.0f), from(2, static_cast<float>(rank));
    EXPECT_EQ(driver.run(request(Kind::allreduce, "same name", all)).error, "");
    EXPECT_EQ(all.front(), 5.0f);
    Request sent = request(Kind::broadcast, "b", from, Op::sum, is_even ? 4 : 3);
    sent.what.set = is_even ? even : odd;
    EXPECT_EQ(driver.run(sent).error, "");
    EXPECT_EQ(from.front(), is_even ? 4.0f : 3.0f);
    sent.what.root = is_even ? 3 : 4;
    EXPECT_THAT(driver.run(sent).error, HasSubstr("does not belong to process set"));
    meet(driver);
  });
}

TEST_P(OperationsTest, ARemovedSetIsGoneAndNumbersAreNotUsedAgain) {
  on_engines(GetParam(), 3, [](Driver& driver, int rank) {
    const int first = static_cast<int>(driver.run(set_of({0, 1})).counts.at(0));
    Request removal;
    removal.what.kind = Kind::remove_set;
    removal.what.name = "set";
    removal.what.root = first;
    EXPECT_EQ(driver.run(removal).error, "");
    std::vector<float> values(3);
    Request asked = request(Kind::allreduce, "w", values);
    asked.what.set = first;
    EXPECT_EQ(driver.run(asked).error,
              fmt::format("\"w\": rank {} does not belong to a process set 1", rank));
    const Result second = driver.run(set_of({1, 2}));
    EXPECT_EQ(second.error, "");
    EXPECT_EQ(second.counts, std::vector<std::uint64_t>{2});
  });
}

TEST_P(OperationsTest, MembersThatDifferAreNamed) {
  on_engines(GetParam(), 3, [](Driver& driver, int rank) {
    EXPECT_THAT(driver.run(set_of(rank == 2 ? std::vector<int>{0, 1} : std::vector<int>{0, 2})).error,
                HasSubstr("ranks do not agree on \"set\""));
    meet(driver);
  });
}

TEST_P(OperationsTest, ANanIsPassedOnAndCounted) {
  std::atomic<int> told = 0;
  Engine::Options options;
  options.log = [&](const std::string& line) { told += line.find("holds a NaN") != std::string::npos; };
  on_engines(
      GetParam(), 3,
      [](Driver& driver, int rank) {
        for (const Op op : {Op::sum, Op::min, Op::max, Op::product, Op::average}) {
          std::vector<float> values(100, 1.0f);
          if (rank == 1) values[17] = std::nanf("");
          EXPECT_EQ(driver.run(request(Kind::allreduce, "w", values, op)).error, "");
          EXPECT_TRUE(std::isnan(values[17])) << name_of(op);
          EXPECT_FALSE(std::isnan(values[18]));
        }
        EXPECT_EQ(driver.reductions_with_nan(), 5u);
      },
      options);
  EXPECT_EQ(told, 3);
}

INSTANTIATE_TEST_SUITE_P(Spreads, OperationsTest,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::two_nodes),
                         spread_name);

TEST(CheckTest, WhatMakesNoSenseIsRefusedAtOnce) {
  StreamTransport transport(std::move(wirings(Spread::one_node, 1).front()));
  Rank rank(transport, {});
  std::vector<float> values(3);
  const auto problem = [&](Request asked) -> std::string {
    try {
      static_cast<void>(rank.driver.submit(std::move(asked)));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  Request asked = request(Kind::allreduce, "w", values);
  asked.what.type = Type::i32;
  asked.what.op = Op::adasum;
  EXPECT_THAT(problem(asked), HasSubstr("Adasum is for all-reduces of floating types"));
  asked.what.type = Type::boolean;
  asked.what.op = Op::average;
  EXPECT_THAT(problem(asked), HasSubstr("booleans have no average"));
  asked = request(Kind::reducescatter, "w", values);
  asked.what.row = 2;
  EXPECT_EQ(problem(asked), "\"w\": 3 elements are not whole rows of 2");
  asked = request(Kind::allreduce, "w", values);
  asked.what.prescale = std::nan("");
  EXPECT_THAT(problem(asked), HasSubstr("scaled by nan"));
  asked = request(Kind::allreduce, "w", values);
  asked.what.group = "g";
  EXPECT_THAT(problem(asked), HasSubstr("has no members"));
  asked = request(Kind::allreduce, "w", values);
  asked.what.wire = Type::i8;
  EXPECT_THAT(problem(asked), HasSubstr("only f32 can be sent as f16 or bf16"));
  asked.what.wire = Type::f16;
  asked.what.op = Op::adasum;
  EXPECT_THAT(problem(asked), HasSubstr("and not for Adasum"));
  asked.what.op = Op::sum;
  asked.what.type = Type::f64;
  EXPECT_THAT(problem(asked), HasSubstr("only f32 can be sent"));
  asked = request(Kind::broadcast, "w", values);
  asked.what.wire = Type::f16;
  EXPECT_THAT(problem(asked), HasSubstr("only reductions can be sent as f16, not broadcast from rank 0"));
  EXPECT_EQ(problem(set_of({})), "a process set needs a rank");
  EXPECT_EQ(problem(set_of({1})), "a process set with rank 1: there are only 1");
  EXPECT_EQ(problem(set_of({0, 0})), "a process set with rank 0 twice");
  EXPECT_EQ(problem(request(Kind::allreduce, "", values)), "the name of a tensor has 1 to 4096 bytes, not 0");
}

}  // namespace
}  // namespace longship::collective
