// SPDX-License-Identifier: Apache-2.0
// Several ranks in one test: wired to each other as the rendezvous would do it, each in a thread of its own.
#pragma once
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "collective/schedules.h"
#include "collective/stream_transport.h"

namespace longship::collective {

// How ranks are spread: one node, one node each (with several sockets between two of them, too), or two nodes
// with every other rank.
enum class Spread { one_node, node_each, node_each_striped, two_nodes };

inline std::string name_of(Spread spread) {
  constexpr const char* names[] = {"SharedMemory", "Sockets", "SeveralSockets", "Mixed"};
  return names[static_cast<std::size_t>(spread)];
}

inline std::string spread_name(const testing::TestParamInfo<Spread>& info) {
  return name_of(info.param);
}

inline int node_of(Spread spread, int rank) {
  return spread == Spread::one_node ? 0 : spread == Spread::two_nodes ? rank % 2 : rank;
}

inline std::pair<Fd, Fd> socket_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

inline std::vector<Wiring> wirings(Spread spread, int size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<Wiring> all(n);
  for (int rank = 0; rank < size; ++rank) {
    auto& wiring = all[static_cast<std::size_t>(rank)];
    wiring.rank = rank;
    wiring.size = size;
    wiring.sockets.resize(n);
    for (int other = 0; other < size; ++other)
      if (node_of(spread, other) == node_of(spread, rank)) wiring.node_ranks.push_back(other);
  }
  const int sockets = spread == Spread::node_each_striped ? 3 : 1;
  for (int a = 0; a < size; ++a)
    for (int b = a + 1; b < size; ++b)
      for (int i = 0; node_of(spread, a) != node_of(spread, b) && i < sockets; ++i) {
        auto [one, other] = socket_pair();
        all[static_cast<std::size_t>(a)].sockets[static_cast<std::size_t>(b)].push_back(std::move(one));
        all[static_cast<std::size_t>(b)].sockets[static_cast<std::size_t>(a)].push_back(std::move(other));
      }
  for (auto& wiring : all) {
    if (wiring.node_ranks.size() < 2 || wiring.node_ranks.front() != wiring.rank) continue;
    const auto ranks = static_cast<int>(wiring.node_ranks.size());
    const auto made = Segment::create(ranks);
    wiring.links.resize(wiring.node_ranks.size());
    for (int position = 0; position < ranks; ++position) {
      auto& member = all[static_cast<std::size_t>(wiring.node_ranks[static_cast<std::size_t>(position)])];
      std::vector<Fd> copies;
      for (const int number : made.numbers()) copies.emplace_back(::dup(number));
      member.segment = std::make_unique<Segment>(Segment::Descriptors::from(std::move(copies)), position);
      if (position == 0) continue;
      member.links.resize(wiring.node_ranks.size());
      std::tie(wiring.links[static_cast<std::size_t>(position)], member.links.front()) = socket_pair();
    }
  }
  return all;
}

// Progresses and sleeps until the condition holds.
inline void drive(Transport& transport, const std::function<bool()>& done) {
  while (!done())
    if (!transport.progress() && !done() && transport.arm() && !done())
      transport.wait(std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

inline void drive(Transport& transport, Schedule schedule) {
  drive(transport, [&] { return schedule.step(); });
}

// Runs the work of each rank in its thread; the first exception fails the test.
inline void on_every_rank(Spread spread, int size, const std::function<void(StreamTransport&)>& work) {
  auto all = wirings(spread, size);
  std::vector<std::thread> threads;
  for (auto& wiring : all)
    threads.emplace_back([&wiring, &work] {
      try {
        StreamTransport transport(std::move(wiring));
        work(transport);
        drive(transport, [&] { return transport.leave(); });
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace longship::collective
