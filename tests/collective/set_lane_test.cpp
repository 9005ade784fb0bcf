// SPDX-License-Identifier: Apache-2.0
#include "collective/set_lane.h"

#include <sys/resource.h>

#include <numeric>

#include "collective/subset.h"
#include "worlds.h"

namespace longship::collective {
namespace {

// Ranks 1, 3 and 4 of one node, which has five.
void on_three_of_five(const std::function<void(StreamTransport&, Subset&)>& work) {
  on_every_rank(Spread::one_node, 5, [&](StreamTransport& transport) {
    if (transport.rank() == 0 || transport.rank() == 2) return;
    Subset set(transport, {1, 3, 4});
    work(transport, set);
  });
}

std::unique_ptr<SetLane> opened(StreamTransport& transport, Subset& set, Tag tag) {
  std::unique_ptr<SetLane> lane;
  drive(transport, open_set_lane(set, tag, *transport.segment(), set.ranks(), lane));
  return lane;
}

void expect_sum(StreamTransport& transport, const SetLane& set, std::span<float> values) {
  const auto own = static_cast<float>(set.lane().rank);
  std::iota(values.begin(), values.end(), own);
  drive(transport,
        direct_allreduce(set.lane(),
                         {{Type::f32, reinterpret_cast<std::byte*>(values.data()), values.size()}}, Op::sum));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 3 * static_cast<float>(i) + 3) << i;
}

TEST(SetLaneTest, SomeRanksOfANodeReduceInMemoryOfTheirOwn) {
  on_three_of_five([](StreamTransport& transport, Subset& set) {
    const auto lane = opened(transport, set, 20);
    ASSERT_TRUE(lane);
    EXPECT_EQ(lane->lane().ranks, 3);
    EXPECT_EQ(lane->lane().rank, set.rank());
    for (const std::size_t count : {1u, 1000u, 70'000u, 400'000u}) {
      std::vector<float> private_values(count);
      expect_sum(transport, *lane, private_values);
      std::byte* const shared = transport.segment()->memory()->allocate(count * sizeof(float));
      expect_sum(transport, *lane, {reinterpret_cast<float*>(shared), count});
    }
  });
}

TEST(SetLaneTest, ItsMemoryIsGivenBackWhenAllAreDone) {
  on_three_of_five([](StreamTransport& transport, Subset& set) {
    Memory& memory = *transport.segment()->memory();
    for (Tag round = 0; round < 20; ++round) {
      auto lane = opened(transport, set, 20 + 2 * round);
      std::vector<float> values(50'000);
      expect_sum(transport, *lane, values);
      drive(transport, close_set_lane(set, 21 + 2 * round, lane));
      EXPECT_FALSE(lane);
    }
    std::byte* const next = memory.allocate(1);
    EXPECT_EQ(memory.offset_of(next, 1), 0u) << "rank " << transport.rank();
  });
}

class SmallFiles {
 public:
  SmallFiles() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small = {64 * 1024, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(SetLaneTest, WhereMemoryCannotBeHadNobodyGetsALane) {
  auto all = wirings(Spread::one_node, 2);  // before the limit
  const SmallFiles limit;
  std::vector<std::thread> threads;
  for (auto& wiring : all)
    threads.emplace_back([&wiring] {
      StreamTransport transport(std::move(wiring));
      Subset set(transport, {0, 1});
      EXPECT_FALSE(opened(transport, set, 20));
      drive(transport, [&] { return transport.leave(); });
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace longship::collective
