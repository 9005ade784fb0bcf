// SPDX-License-Identifier: Apache-2.0
#include "collective/rendezvous.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

#include "collective/session.h"
#include "collective/socket.h"
#include "expect.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

Lookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

const std::string secret_text(32, 'a');

TEST(WorldTest, WithoutALauncherItIsAWorldOfOne) {
  const World world = world_from(environment({}));
  EXPECT_EQ(world.rank, 0);
  EXPECT_EQ(world.size, 1);
  EXPECT_FALSE(world.node.empty());
}

TEST(WorldTest, ReadsWhatTheLauncherSays) {
  const World world = world_from(environment({{"RANK", "3"},
                                              {"WORLD_SIZE", "4"},
                                              {"LOCAL_RANK", "1"},
                                              {"LOCAL_WORLD_SIZE", "2"},
                                              {"SLURMD_NODENAME", "n7"},
                                              {"LONGSHIP_RENDEZVOUS", "[::1]:4711"},
                                              {"LONGSHIP_SECRET", secret_text}}));
  EXPECT_EQ(world.rank, 3);
  EXPECT_EQ(world.local_rank, 1);
  EXPECT_EQ(world.node, "n7");
  EXPECT_EQ(world.host, "::1");
  EXPECT_EQ(world.port, 4711);
  EXPECT_EQ(world.secret.size(), 16u);
}

TEST(WorldTest, WhatIsWrongIsNamed) {
  const auto message = [](std::map<std::string, std::string> variables) {
    return message_of([&] { static_cast<void>(world_from(environment(std::move(variables)))); });
  };
  EXPECT_EQ(message({{"WORLD_SIZE", "two"}}), "WORLD_SIZE=two: not a number from 1 to 1048576");
  EXPECT_EQ(message({{"WORLD_SIZE", "2"}, {"RANK", "2"}}), "RANK=2: not a number from 0 to 1");
  EXPECT_EQ(message({{"WORLD_SIZE", "2"}}), "WORLD_SIZE=2, but RANK is not set");
  EXPECT_EQ(message({{"WORLD_SIZE", "2"}, {"RANK", "0"}}),
            "rank 0 of 2 does not know where to meet the others: set LONGSHIP_RENDEZVOUS=HOST:PORT and "
            "LONGSHIP_SECRET, or use longship launch, srun, mpirun or torchrun");
  EXPECT_EQ(message({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"LONGSHIP_RENDEZVOUS", "here"}}),
            "LONGSHIP_RENDEZVOUS=here: not HOST:PORT");
  EXPECT_EQ(message({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"LONGSHIP_RENDEZVOUS", "h:1"}}),
            "rank 0 of 2: LONGSHIP_SECRET is not set");
  EXPECT_EQ(
      message(
          {{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"LONGSHIP_RENDEZVOUS", "h:1"}, {"LONGSHIP_SECRET", "abc"}}),
      "LONGSHIP_SECRET: not at least 32 hexadecimal digits");
}

// Rank 0 gets the listening socket, as from the launcher.
class MeetingTest : public testing::Test {
 protected:
  World world(int rank, int size) const {
    World one;
    one.rank = rank;
    one.size = size;
    one.node = "node" + std::to_string(rank % nodes);
    one.host = "127.0.0.1";
    one.port = port_of(listener.get());
    one.listener = rank == 0 ? listener.get() : -1;
    one.secret.assign(16, std::byte{7});
    one.patience = 20s;
    one.sockets = rank == 0 ? sockets : 1;
    return one;
  }

  int nodes = 2, sockets = 1;
  Fd listener = listen_tcp("127.0.0.1", 0);
};

TEST_F(MeetingTest, RanksMeetAndSum) {
  for (const auto& [how_many, connections] : {std::pair{1, 1}, {2, 1}, {2, 4}}) {
    nodes = how_many;
    sockets = connections;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 5; ++rank)
      threads.emplace_back([&, rank] {
        Session session(world(rank, 5), "", {});
        EXPECT_EQ(session.local_size(), nodes == 1 ? 5 : rank % 2 == 0 ? 3 : 2);
        EXPECT_EQ(session.local_rank(), rank / nodes);
        double value = rank;
        const Result result = session.driver().run(
            {{Kind::allreduce, Type::f64, Op::sum, 0, 1, "x"}, reinterpret_cast<std::byte*>(&value)});
        EXPECT_EQ(result.error, "");
        EXPECT_EQ(value, 10);
      });
    for (auto& thread : threads) thread.join();
  }
}

TEST_F(MeetingTest, StrangersAreIgnored) {
  std::atomic<bool> met = false;
  std::thread strangers([&] {
    std::vector<Fd> silent;
    for (int i = 0; i < 20 && !met; ++i) {
      Fd socket = connect_tcp("127.0.0.1", port_of(listener.get()), std::chrono::steady_clock::now());
      const std::string noise = i % 2 == 0 ? "GET / HTTP/1.1\r\n\r\n" : std::string(200'000, '\xff');
      static_cast<void>(::send(socket.get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
      if (i % 3 != 0) silent.push_back(std::move(socket));
    }
  });
  std::thread other([&] { static_cast<void>(meet(world(1, 2))); });
  const Meeting meeting = meet(world(0, 2));
  met = true;
  EXPECT_EQ(meeting.wiring.size, 2);
  strangers.join();
  other.join();
}

TEST_F(MeetingTest, AWrongSecretIsSaidToWhoHasIt) {
  auto impatient = world(0, 2);
  impatient.patience = 1s;
  std::thread other([&] {
    auto wrong = world(1, 2);
    wrong.secret.front() = std::byte{8};
    EXPECT_THAT(message_of([&] { static_cast<void>(meet(wrong)); }), HasSubstr("LONGSHIP_SECRET"));
  });
  EXPECT_EQ(message_of([&] { static_cast<void>(meet(impatient)); }),
            "cannot join the other ranks: rank 1 of 2 did not arrive within 1 s");
  other.join();
}

TEST_F(MeetingTest, WhoDoesNotArriveIsNamedToAllWhoDid) {
  const std::string expected = "cannot join the other ranks: ranks 1 and 3 of 4 did not arrive within 1 s";
  std::vector<std::thread> threads;
  for (const int rank : {0, 2})
    threads.emplace_back([&, rank] {
      auto impatient = world(rank, 4);
      impatient.patience = 1s;
      EXPECT_EQ(message_of([&] { static_cast<void>(meet(impatient)); }), expected);
    });
  for (auto& thread : threads) thread.join();
}

TEST_F(MeetingTest, TwoThatSayTheyAreTheSameRankAreFound) {
  std::vector<std::thread> threads;
  for (const int rank : {0, 1, 1})
    threads.emplace_back([&, rank] {
      EXPECT_THAT(message_of([&] { static_cast<void>(meet(world(rank, 3))); }),
                  HasSubstr("two processes say that they are rank 1"));
    });
  for (auto& thread : threads) thread.join();
}

// One rank's all-reduces, in memory of the node and in its own: the first sum that is wrong, or nothing.
std::string wrong_sum(Session& session) {
  const float expected = static_cast<float>(session.size() * (session.size() + 1) / 2);
  for (const std::size_t count : {1u, 1000u, 20'000u, 300'001u})
    for (const bool in_common : {true, false}) {
      std::vector<float> own;
      std::span<float> tensor;
      if (in_common && session.segment() != nullptr) {
        auto* const data = session.segment()->memory()->allocate(count * sizeof(float));
        tensor = {reinterpret_cast<float*>(data), count};
      } else {
        own.resize(count);
        tensor = own;
      }
      std::fill(tensor.begin(), tensor.end(), static_cast<float>(session.rank() + 1));
      const Request request = {{Kind::allreduce, Type::f32, Op::sum, 0, count, "x"},
                               reinterpret_cast<std::byte*>(tensor.data())};
      const Result result = session.driver().run(request);
      if (!result.error.empty()) return result.error;
      const auto wrong = std::count_if(tensor.begin(), tensor.end(), [&](float x) { return x != expected; });
      if (wrong > 0)
        return fmt::format("{} of {} {} values are wrong", wrong, count, in_common ? "common" : "private");
    }
  return {};
}

// What threads do not show: memory that is mapped at other addresses, or that only the kernel can reach.
TEST_F(MeetingTest, RanksThatAreProcessesReduceWhereverTheirTensorsLie) {
  for (const int count : {1, 2})
    for (int size = 2; size <= 5; ++size) {
      nodes = count;
      std::vector<pid_t> children;
      for (int rank = 1; rank < size; ++rank) {  // before this process has any thread
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child != 0) {
          children.push_back(child);
          continue;
        }
        std::string wrong;
        {
          Session session(world(rank, size), "", {});
          wrong = wrong_sum(session);
        }
        if (!wrong.empty()) fmt::print(stderr, "rank {} of {}: {}\n", rank, size, wrong);
        ::_exit(wrong.empty() ? 42 : 1);
      }
      {
        Session session(world(0, size), "", {});
        EXPECT_EQ(wrong_sum(session), "");
      }
      for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(WEXITSTATUS(status), 42);
      }
    }
}

TEST_F(MeetingTest, AKilledProcessIsAnErrorForTheOthers) {
  // Processes are forked before this one has any thread.
  for (const int count : {1, 2}) {
    nodes = count;
    std::vector<pid_t> children;
    Pipe test_is_over = make_pipe();
    for (int rank = 1; rank < 3; ++rank) {
      const pid_t child = ::fork();
      if (child != 0) {
        children.push_back(child);
        continue;
      }
      std::string error;
      {
        Session session(world(rank, 3), "", {});
        float value = 1;
        const Request request = {{Kind::allreduce, Type::f32, Op::sum, 0, 1, "x"},
                                 reinterpret_cast<std::byte*>(&value)};
        error = session.driver().run(request).error;
        if (rank == 2) ::raise(SIGKILL);
        while (error.empty()) error = session.driver().run(request).error;
        test_is_over.write.reset();
        char byte = 0;
        static_cast<void>(
            !::read(test_is_over.read.get(), &byte, 1));  // or rank 0 might find this rank lost first
      }
      ::_exit(error.find("rank 2 was lost") != std::string::npos ? 42 : 1);
    }
    {
      Session session(world(0, 3), "", {});
      float value = 1;
      const Request request = {{Kind::allreduce, Type::f32, Op::sum, 0, 1, "x"},
                               reinterpret_cast<std::byte*>(&value)};
      Result result;
      while (result.error.empty()) result = session.driver().run(request);
      EXPECT_THAT(result.error, HasSubstr("rank 2 was lost"));
      test_is_over.write.reset();
      int status = 0;
      ASSERT_EQ(::waitpid(children[0], &status, 0), children[0]);
      EXPECT_EQ(WEXITSTATUS(status), 42);
      ASSERT_EQ(::waitpid(children[1], &status, 0), children[1]);
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    }
  }
}

}  // namespace
}  // namespace longship::collective
