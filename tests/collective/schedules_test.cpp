// SPDX-License-Identifier: Apache-2.0
// Every schedule, on every number of ranks, beside the same operation done by one thread.
#include "collective/schedules.h"

#include <gtest/gtest.h>

#include <cstring>

#include "collective/costs.h"
#include "collective/reduce.h"
#include "worlds.h"

namespace longship::collective {
namespace {

const std::vector<int> rank_counts = {1, 2, 3, 4, 5, 7, 8};

// Small whole numbers, exact in every type whatever the order of summation.
std::vector<std::byte> values_of(Type type, std::size_t count, int rank) {
  std::vector<std::byte> bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    const int value = static_cast<int>(i % 3) + (rank % 2) + 1;
    const auto put = [&](auto number) {
      std::memcpy(bytes.data() + i * sizeof number, &number, sizeof number);
    };
    switch (type) {
      case Type::u8:
      case Type::boolean:
        put(static_cast<std::uint8_t>(value));
        break;
      case Type::i8:
        put(static_cast<std::int8_t>(value));
        break;
      case Type::i32:
        put(static_cast<std::int32_t>(value));
        break;
      case Type::i64:
        put(static_cast<std::int64_t>(value));
        break;
      case Type::f16:
        put(detail::to_half(static_cast<float>(value)));
        break;
      case Type::bf16:
        put(detail::to_bfloat(static_cast<float>(value)));
        break;
      case Type::f32:
        put(static_cast<float>(value));
        break;
      case Type::f64:
        put(static_cast<double>(value));
        break;
    }
  }
  return bytes;
}

std::vector<std::byte> reference(Type type, Op op, std::size_t count, int size) {
  auto result = values_of(type, count, 0);
  for (int rank = 1; rank < size; ++rank)
    combine(type, op, result.data(), result.data(), values_of(type, count, rank).data(), count);
  if (op == Op::average && size > 1) divide(type, result.data(), count, size);
  return result;
}

std::optional<Lane> lane_of(StreamTransport& transport) {
  if (transport.segment() == nullptr) return {};
  return transport.segment()->lane(Lane::engine);
}

Schedule allreduce(Way way, Spread spread, StreamTransport& transport, Tag tag, Values values, Op op) {
  switch (way) {
    case Way::direct:
      return direct_allreduce(transport.common_segment()->lane(Lane::engine), {values}, op);
    case Way::ring:
      return ring_allreduce(transport, tag, values, op);
    case Way::halving_doubling:
      return halving_doubling_allreduce(transport, tag, values, op);
    case Way::tree:
      return tree_allreduce(transport, tag, values, op);
    case Way::hierarchical: {
      std::vector<int> nodes;
      for (int rank = 0; rank < transport.size(); ++rank) nodes.push_back(node_of(spread, rank));
      return hierarchical_allreduce(transport, lane_of(transport), nodes, tag, values, op);
    }
  }
  return {};
}

struct Case {
  Way way;
  Spread spread;
};

class AllreduceTest : public testing::TestWithParam<Case> {
 protected:
  static void check(int size, Type type, Op op, const std::vector<std::size_t>& counts) {
    if (size == 1 && GetParam().way == Way::direct) return;  // there is no segment for one
    on_every_rank(GetParam().spread, size, [&](StreamTransport& transport) {
      Tag tag = 100;
      for (const auto count : counts) {
        auto values = values_of(type, count, transport.rank());
        drive(transport, allreduce(GetParam().way, GetParam().spread, transport, tag++,
                                   {type, values.data(), count}, op));
        ASSERT_EQ(values, reference(type, op, count, size))
            << size << " ranks, " << count << " " << name_of(type) << ", " << name_of(op);
      }
    });
  }
};

TEST_P(AllreduceTest, EverySizeAroundTheBoundaries) {
  const std::size_t slot = Lane::slot_bytes / sizeof(float);
  for (const int size : rank_counts)
    check(size, Type::f32, Op::sum,
          {0, 1, 2, 3, 7, 64, 1009, 4096, 4097, slot - 1, slot, slot + 1, 5 * slot + 13});
}

TEST_P(AllreduceTest, EveryTypeAndOperation) {
  for (const int size : {2, 3, 5})
    for (int type = 0; type < type_count; ++type)
      for (int op = 0; op < element_wise_ops; ++op)
        check(size, static_cast<Type>(type), static_cast<Op>(op), {1, 1000, 20011});
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const char* const names[] = {"Direct", "Tree", "Halving", "Ring", "Hierarchical"};
  return names[static_cast<int>(info.param.way)] + name_of(info.param.spread);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, AllreduceTest,
    testing::Values(Case{Way::direct, Spread::one_node}, Case{Way::ring, Spread::one_node},
                    Case{Way::ring, Spread::node_each_striped}, Case{Way::ring, Spread::two_nodes},
                    Case{Way::halving_doubling, Spread::two_nodes},
                    Case{Way::halving_doubling, Spread::node_each}, Case{Way::tree, Spread::two_nodes},
                    Case{Way::hierarchical, Spread::two_nodes}, Case{Way::hierarchical, Spread::node_each}),
    case_name);

TEST(DirectTest, SeveralTensorsAreReducedAsOne) {
  for (const int size : {2, 3}) {
    on_every_rank(Spread::one_node, size, [&](StreamTransport& transport) {
      std::vector<std::vector<std::byte>> tensors;
      Pieces pieces;
      const std::vector<std::size_t> counts = {5, 0, 40000, 1, 70001, 3};
      for (const auto count : counts) tensors.push_back(values_of(Type::f32, count, transport.rank()));
      for (std::size_t i = 0; i < counts.size(); ++i)
        pieces.push_back({Type::f32, tensors[i].data(), counts[i]});
      drive(transport, direct_allreduce(transport.common_segment()->lane(Lane::engine), pieces, Op::average));
      for (std::size_t i = 0; i < counts.size(); ++i)
        EXPECT_EQ(tensors[i], reference(Type::f32, Op::average, counts[i], size));
    });
  }
}

class OthersTest : public testing::TestWithParam<Spread> {};

TEST_P(OthersTest, BroadcastFromEveryRoot) {
  for (const int size : rank_counts)
    on_every_rank(GetParam(), size, [&](StreamTransport& transport) {
      Tag tag = 50;
      for (int root = 0; root < size; ++root)
        for (const std::size_t length : {0u, 1u, 1000u, 262145u}) {
          auto bytes = values_of(Type::u8, length, transport.rank() == root ? 1 : 0);
          drive(transport, tree_broadcast(transport, tag++, bytes, root));
          ASSERT_EQ(bytes, values_of(Type::u8, length, 1)) << size << " " << root << " " << length;
        }
    });
}

TEST_P(OthersTest, AllGatherWithUnequalParts) {
  for (const int size : rank_counts)
    on_every_rank(GetParam(), size, [&](StreamTransport& transport) {
      std::vector<std::size_t> sizes;
      std::vector<std::byte> expected;
      for (int rank = 0; rank < size; ++rank) {
        sizes.push_back(static_cast<std::size_t>(rank * rank) * 10'007);  // rank 0 has none
        const auto part = values_of(Type::u8, sizes.back(), rank);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      const auto own = static_cast<std::size_t>(transport.rank());
      const auto input = values_of(Type::u8, sizes[own], transport.rank());
      std::vector<std::byte> output(expected.size());
      drive(transport, ring_allgather(transport, 3, input, output, sizes));
      ASSERT_EQ(output, expected);
    });
}

INSTANTIATE_TEST_SUITE_P(Spreads, OthersTest,
                         testing::Values(Spread::one_node, Spread::node_each, Spread::two_nodes),
                         spread_name);

}  // namespace
}  // namespace longship::collective
