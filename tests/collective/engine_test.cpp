// SPDX-License-Identifier: Apache-2.0
// The engine and its driver: what a caller sees of agreement, fusion, mistakes and losses.
#include "collective/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <condition_variable>

#include "base/error.h"
#include "engines.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class EngineTest : public testing::TestWithParam<Spread> {
 protected:
  static void on_ranks(int size, const std::function<void(Driver&, int)>& work,
                       const Engine::Options& options = {}) {
    on_engines(GetParam(), size, work, options);
  }
};

TEST_P(EngineTest, RanksThatAskInDifferentOrdersAgree) {
  on_ranks(3, [](Driver& driver, int rank) {
    constexpr int count = 50;
    std::vector<std::vector<float>> tensors(count);
    std::vector<Handle> handles(count);
    for (int i = 0; i < count; ++i) {
      const int which = rank == 1 ? count - 1 - i : i;
      auto& tensor = tensors[static_cast<std::size_t>(which)];
      tensor.assign(static_cast<std::size_t>(which) * 7, 1.0f);
      handles[static_cast<std::size_t>(which)] =
          driver.submit(request(Kind::allreduce, "t" + std::to_string(which), tensor));
    }
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(driver.wait(handles[i]).error, "");
      EXPECT_EQ(tensors[i], std::vector<float>(i * 7, 3.0f));
    }
  });
}

TEST_P(EngineTest, TheSameNameServesStepAfterStep) {
  on_ranks(2, [](Driver& driver, int) {
    for (int step = 0; step < 200; ++step) {
      std::vector<float> values(10, static_cast<float>(step));
      EXPECT_EQ(driver.run(request(Kind::allreduce, "w", values, Op::average)).error, "");
      EXPECT_EQ(values.back(), static_cast<float>(step));
    }
  });
}

TEST_P(EngineTest, BroadcastGatherAndBarrier) {
  on_ranks(3, [](Driver& driver, int rank) {
    std::vector<float> values(5, static_cast<float>(rank));
    EXPECT_EQ(driver.run(request(Kind::broadcast, "b", values, Op::sum, 2)).error, "");
    EXPECT_EQ(values, std::vector<float>(5, 2.0f));
    std::vector<float> part(static_cast<std::size_t>(rank), static_cast<float>(rank));
    const Result result = driver.run(request(Kind::allgather, "g", part));
    EXPECT_EQ(result.counts, (std::vector<std::uint64_t>{0, 1, 2}));
    ASSERT_EQ(result.gathered.size(), 3 * sizeof(float));
    const auto* const all = reinterpret_cast<const float*>(result.gathered.data());
    EXPECT_EQ(std::vector<float>(all, all + 3), (std::vector<float>{1, 2, 2}));
    std::vector<float> none;
    EXPECT_EQ(driver.run(request(Kind::barrier, "here", none)).error, "");
  });
}

TEST_P(EngineTest, MismatchFailsAloneAndIsNamedOnEveryRank) {
  on_ranks(3, [](Driver& driver, int rank) {
    std::vector<float> values(rank == 1 ? 4 : 5);
    EXPECT_THAT(driver.run(request(Kind::allreduce, "w", values)).error,
                HasSubstr("ranks do not agree on \"w\""));
    std::vector<float> fine(3, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "fine", fine)).error, "");
    EXPECT_EQ(fine.front(), 3.0f);
  });
}

TEST_P(EngineTest, ATensorThatAnotherRankMissesIsNamedWithThatRank) {
  Engine::Options options;
  options.limits.patience = 50ms;
  std::barrier both(2);
  on_ranks(
      2,
      [&](Driver& driver, int rank) {
        std::vector<float> values(4);
        const std::string own = rank == 0 ? "zero" : "one";
        EXPECT_THAT(driver.run(request(Kind::allreduce, own, values)).error,
                    HasSubstr(fmt::format("\"{}\" was announced by rank {}", own, rank)));
        both.arrive_and_wait();
      },
      options);
}

TEST_P(EngineTest, WhoIsWaitedForIsNamedWhileItIsNotThere) {
  std::mutex mutex;
  std::condition_variable told;
  std::string said;
  Engine::Options options;
  options.limits.warning = 20ms;
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    said += line + "\n";
    told.notify_all();
  };
  on_ranks(
      3,
      [&](Driver& driver, int rank) {
        std::vector<float> values(4, 1.0f);
        if (rank == 1) {  // comes only once it has been missed
          std::unique_lock lock(mutex);
          EXPECT_TRUE(told.wait_for(lock, 60s, [&] { return said.find("for rank 1") != std::string::npos; }));
        }
        EXPECT_EQ(driver.run(request(Kind::allreduce, "w", values)).error, "");
      },
      options);
  EXPECT_THAT(said, HasSubstr("\"w\" has waited 0 s for rank 1, announced by ranks 0 and 2"));
}

// No patience is needed for what can never come.
TEST_P(EngineTest, RanksWhoseNamesDivergeAreToldWithinASecond) {
  on_ranks(3, [&](Driver& driver, int rank) {
    std::vector<float> values(4, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "together", values)).error, "");
    const auto begin = std::chrono::steady_clock::now();
    const std::string own = "step." + std::to_string(rank);
    EXPECT_THAT(driver.run(request(Kind::allreduce, own, values)).error,
                HasSubstr(fmt::format("\"{}\" was announced by rank {}, but not by ranks", own, rank)));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s) << "the patience would be five minutes";
    values.assign(4, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "afterwards", values)).error, "");
    EXPECT_EQ(values.front(), 3.0f);
  });
}

// Neither is it taken for a divergence that a rank computes for a while.
TEST_P(EngineTest, ASlowRankIsWaitedFor) {
  on_ranks(3, [&](Driver& driver, int rank) {
    std::vector<float> values(4, 1.0f), others(4, 1.0f);
    const Handle second = rank == 1 ? 0 : driver.submit(request(Kind::allreduce, "b", others));
    if (rank == 1) std::this_thread::sleep_for(400ms);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "a", values)).error, "");
    if (rank == 1) std::this_thread::sleep_for(400ms);
    EXPECT_EQ((rank == 1 ? driver.run(request(Kind::allreduce, "b", others)) : driver.wait(second)).error,
              "");
  });
}

TEST_P(EngineTest, ThreadsThatWaitCrosswiseAreNoDivergence) {
  on_ranks(2, [&](Driver& driver, int rank) {
    std::vector<std::thread> threads;
    for (int number = 0; number < 2; ++number)
      threads.emplace_back([&, number] {
        for (int step = 0; step < 3; ++step) {
          std::vector<float> values(4, 1.0f);
          if (number != rank && step > 0) std::this_thread::sleep_for(300ms);
          EXPECT_EQ(driver.run(request(Kind::allreduce, std::to_string(number), values)).error, "");
        }
      });
    for (auto& thread : threads) thread.join();
  });
}

TEST_P(EngineTest, TenThousandTensors) {
  on_ranks(3, [](Driver& driver, int rank) {
    constexpr std::size_t count = 10'000;
    std::vector<std::vector<float>> tensors(count, std::vector<float>(3, 1.0f));
    for (int step = 0; step < 2; ++step) {
      std::vector<Handle> handles(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t which = rank == 1 ? count - 1 - i : i;
        handles[which] =
            driver.submit(request(Kind::allreduce, "t" + std::to_string(which), tensors[which], Op::max));
      }
      for (const Handle handle : handles) ASSERT_EQ(driver.wait(handle).error, "");
    }
    EXPECT_EQ(tensors.back().back(), 1.0f);
  });
}

TEST_P(EngineTest, WhoLeavesIsNamedToWhoStays) {
  std::barrier staying(2);
  on_ranks(3, [&](Driver& driver, int rank) {
    std::vector<float> values(4, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "together", values)).error, "");
    if (rank == 1) return;
    EXPECT_THAT(driver.run(request(Kind::allreduce, "alone", values)).error, HasSubstr("rank 1 has left"));
    staying.arrive_and_wait();
  });
}

TEST_P(EngineTest, WithoutRankZeroNothingIsDecided) {
  on_ranks(2, [](Driver& driver, int rank) {
    std::vector<float> values(4, 1.0f);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "together", values)).error, "");
    if (rank == 0) return;
    EXPECT_THAT(driver.run(request(Kind::allreduce, "alone", values)).error, HasSubstr("rank 0"));
  });
}

TEST_P(EngineTest, ALostRankFailsWhatRunsAndWhatComes) {
  auto all = wirings(GetParam(), 3);
  std::vector<std::unique_ptr<StreamTransport>> transports;
  for (auto& wiring : all) transports.push_back(std::make_unique<StreamTransport>(std::move(wiring)));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Rank parts(*transports[static_cast<std::size_t>(rank)], {});
      std::vector<float> values(100'000, 1.0f);
      EXPECT_THAT(parts.driver.run(request(Kind::allreduce, "w", values)).error,
                  HasSubstr("rank 2 was lost"));
      EXPECT_THAT(parts.driver.run(request(Kind::allreduce, "x", values)).error,
                  HasSubstr("rank 2 was lost"));
    });
  transports[2].reset();  // as a process does that is killed
  for (auto& thread : threads) thread.join();
}

TEST_P(EngineTest, ANameInUseIsRefusedHere) {
  on_ranks(2, [](Driver& driver, int rank) {
    std::vector<float> a(1, 1.0f), b(1), met(1);
    if (rank == 0) {
      const Handle first = driver.submit(request(Kind::allreduce, "w", a));
      const Handle second = driver.submit(request(Kind::allreduce, "w", b));
      EXPECT_EQ(driver.wait(second).error, "\"w\" is asked for again before it was done");
      EXPECT_EQ(driver.run(request(Kind::allreduce, "met", met)).error, "");
      EXPECT_EQ(driver.wait(first).error, "");
    } else {
      EXPECT_EQ(driver.run(request(Kind::allreduce, "met", met)).error, "");
      EXPECT_EQ(driver.run(request(Kind::allreduce, "w", a)).error, "");
    }
    EXPECT_EQ(a.front(), 2.0f);
  });
}

TEST_P(EngineTest, SeveralThreadsMayWait) {
  on_ranks(2, [](Driver& driver, int) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&driver, i] {
        for (int step = 0; step < 25; ++step) {
          std::vector<float> values(100, 1.0f);
          EXPECT_EQ(driver.run(request(Kind::allreduce, "thread" + std::to_string(i), values)).error, "");
          EXPECT_EQ(values.front(), 2.0f);
        }
      });
    for (auto& thread : threads) thread.join();
  });
}

// On a core that it shares with the training a rank reduces nothing before somebody waits: then who waits
// does.
TEST_P(EngineTest, WhoWaitsDoesNotNeedTheOthersToWaitToo) {
  Engine::Options options;
  options.shares_core = true;
  for (const int waiting : {0, 1}) {
    std::barrier reduced(2);
    on_ranks(
        2,
        [&](Driver& driver, int rank) {
          std::vector<std::vector<float>> tensors;
          std::vector<Handle> handles;
          for (int i = 0; i < 5; ++i) tensors.emplace_back(100'000, static_cast<float>(rank + i));
          for (std::size_t i = 0; i < tensors.size(); ++i)
            handles.push_back(driver.submit(request(Kind::allreduce, "t" + std::to_string(i), tensors[i])));
          if (rank != waiting) reduced.arrive_and_wait();
          for (std::size_t i = 0; i < tensors.size(); ++i) {
            EXPECT_EQ(driver.wait(handles[i]).error, "");
            EXPECT_EQ(tensors[i], std::vector<float>(100'000, static_cast<float>(1 + 2 * i)));
          }
          if (rank == waiting) reduced.arrive_and_wait();
        },
        options);
  }
}

TEST_P(EngineTest, OnASharedCoreToAskIsToWait) {
  Engine::Options options;
  options.shares_core = true;
  on_ranks(
      3,
      [](Driver& driver, int) {
        std::vector<float> values(100'000, 1);
        const Handle handle = driver.submit(request(Kind::allreduce, "asked", values));
        while (!driver.finished(handle)) std::this_thread::yield();
        EXPECT_EQ(driver.wait(handle).error, "");
        EXPECT_EQ(values, std::vector<float>(100'000, 3));
      },
      options);
}

INSTANTIATE_TEST_SUITE_P(Spreads, EngineTest,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::two_nodes),
                         spread_name);

TEST(TuneTest, WhoAsksIsShownTheTableAtTheEnd) {
  std::mutex mutex;
  std::string told;
  Engine::Options options;
  options.log_tune = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    told += text;
  };
  const auto reduce_once = [](Driver& driver, int) {
    std::vector<float> values(10'000, 1);
    EXPECT_EQ(driver.run(request(Kind::allreduce, "t", values)).error, "");
  };
  on_engines(Spread::node_each, 2, reduce_once, options);
  const auto first = told.find("all-reduce by 2 ranks on 2 nodes\n");
  ASSERT_NE(first, std::string::npos) << told;
  EXPECT_NE(told.find("256 MiB", first), std::string::npos) << told;
  EXPECT_EQ(told.find("all-reduce by 2 ranks on 2 nodes\n", first + 1), std::string::npos)
      << told;  // by rank 0
}

TEST(AloneTest, OneRankIsAWorld) {
  StreamTransport transport(std::move(wirings(Spread::one_node, 1).front()));
  Rank rank(transport, {});
  std::vector<float> values(3, 2.0f);
  EXPECT_EQ(rank.driver.run(request(Kind::allreduce, "w", values, Op::average)).error, "");
  EXPECT_EQ(values.front(), 2.0f);
  EXPECT_EQ(rank.driver.run(request(Kind::allgather, "g", values)).counts, std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace longship::collective
