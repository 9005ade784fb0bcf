// SPDX-License-Identifier: Apache-2.0
// Tensors on GPUs, through a FAKE of NCCL (fake_nccl.cpp): host memory plays the GPUs' part.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <numeric>
#include <optional>

#include "collective/device_group.h"
#include "collective/device_meeting.h"
#include "engines.h"
#include "expect.h"

namespace longship::collective {
namespace {

using testing::HasSubstr;

const std::string fake = LONGSHIP_FAKE_NCCL;

template <class Function>
Function* of_fake(const char* name) {
  static void* const library = ::dlopen(fake.c_str(), RTLD_NOW);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

// While it lives, that function of the fake answers with an error.
struct Failing {
  explicit Failing(const char* function) : name(function) { set(2); }
  ~Failing() { set(0); }
  void set(int code) const { of_fake<void(const char*, int)>("fake_nccl_fail")(name, code); }
  const char* name;
};

std::vector<int> world(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void on_devices(int size, const std::function<void(Driver&, int rank)>& work) {
  on_engines(Spread::node_each, size, [&](Driver& driver, int rank) {
    meet_on_devices(driver, 0, world(size), rank, fake);
    work(driver, rank);
  });
}

Request on_device(Request asked) {
  asked.what.device = true;
  return asked;
}

TEST(NcclLibrary, IsNamedIfItIsMissingOrLacksSomething) {
  EXPECT_THAT(message_of([] { NcclLibrary("libnccl-that-is-not-here.so.2"); }),
              testing::AllOf(HasSubstr("tensors in a GPU's memory need NCCL"),
                             HasSubstr("libnccl-that-is-not-here.so.2"), HasSubstr("LONGSHIP_NCCL")));
  EXPECT_THAT(message_of([] { NcclLibrary("libm.so.6"); }),
              HasSubstr("libm.so.6: not NCCL 2.10 or later: it has no ncclGetUniqueId"));
  EXPECT_EQ(nccl_file([](const char*) { return std::optional<std::string>("/opt/nccl.so"); }),
            "/opt/nccl.so");
  EXPECT_EQ(nccl_file([](const char*) { return std::nullopt; }), "libnccl.so.2");
}

TEST(Device, AllReducesOfEveryOperationAndOneStreamEach) {
  for (int size = 1; size <= 4; ++size)
    on_devices(size, [&](Driver& driver, int rank) {
      const float n = static_cast<float>(size), first = 1, last = n;
      const std::vector<std::pair<Op, float>> expected = {
          {Op::sum, n * (n + 1) / 2}, {Op::average, (n + 1) / 2}, {Op::min, first}, {Op::max, last}};
      for (const auto& [op, value] : expected) {
        std::vector<float> values(1000, static_cast<float>(rank + 1));
        Request asked = on_device(request(Kind::allreduce, "w", values, op));
        asked.stream = &values;
        EXPECT_EQ(driver.run(asked).error, "");
        EXPECT_EQ(values, std::vector<float>(1000, value)) << name_of(op);
      }
    });
  void* streams[100];
  EXPECT_EQ(of_fake<std::size_t(void**, std::size_t)>("fake_nccl_streams")(streams, 100),
            4u * (1 + 2 + 3 + 4));
  for (std::size_t i = 0; i < 40; ++i) EXPECT_NE(streams[i], nullptr);
}

TEST(Device, ManyInAnyOrderAndIntegersAndBooleans) {
  on_devices(3, [](Driver& driver, int rank) {
    std::vector<std::vector<float>> tensors(50, std::vector<float>(9, 1.0f));
    std::vector<Handle> handles(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::size_t which = rank == 1 ? tensors.size() - 1 - i : i;
      handles[which] =
          driver.submit(on_device(request(Kind::allreduce, "t" + std::to_string(which), tensors[which])));
    }
    for (const Handle handle : handles) EXPECT_EQ(driver.wait(handle).error, "");
    for (const auto& tensor : tensors) EXPECT_EQ(tensor, std::vector<float>(9, 3.0f));
    std::uint8_t yes = rank == 0 ? 1 : 0;
    Request asked{{Kind::allreduce, Type::boolean, Op::sum, 0, 1, "b"}, reinterpret_cast<std::byte*>(&yes)};
    EXPECT_EQ(driver.run(on_device(asked)).error, "");
    EXPECT_EQ(yes, 1);
  });
}

TEST(Device, BroadcastGatherScatterAndAllToAll) {
  on_devices(3, [](Driver& driver, int rank) {
    const auto value = static_cast<float>(rank);
    std::vector<float> values(4, value);
    EXPECT_EQ(driver.run(on_device(request(Kind::broadcast, "b", values, Op::sum, 2))).error, "");
    EXPECT_EQ(values, std::vector<float>(4, 2.0f));

    std::vector<float> part(static_cast<std::size_t>(rank), value), all(3);
    Request gather = on_device(request(Kind::allgather, "g", part));
    gather.output = reinterpret_cast<std::byte*>(all.data());
    EXPECT_EQ(driver.run(gather).counts, (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(all, (std::vector<float>{1, 2, 2}));
    std::vector<float> one(1, value);
    gather = on_device(request(Kind::allgather, "g", one));
    gather.output = reinterpret_cast<std::byte*>(all.data());
    EXPECT_EQ(driver.run(gather).error, "");
    EXPECT_EQ(all, (std::vector<float>{0, 1, 2}));

    std::vector<float> six = {0, 1, 2, 3, 4, 5}, two(2);
    Request scatter = on_device(request(Kind::reducescatter, "s", six));
    scatter.output = reinterpret_cast<std::byte*>(two.data());
    EXPECT_EQ(driver.run(scatter).counts, (std::vector<std::uint64_t>{2, 2, 2}));
    EXPECT_EQ(two, (std::vector<float>{6 * value, 6 * value + 3}));

    std::vector<float> to_each = {10 * value, 10 * value + 1, 10 * value + 2};
    Request exchange = on_device(request(Kind::alltoall, "a", to_each));
    exchange.output = reinterpret_cast<std::byte*>(all.data());
    EXPECT_EQ(driver.run(exchange).error, "");
    EXPECT_EQ(all, (std::vector<float>{value, 10 + value, 20 + value}));
  });
}

TEST(Device, AProcessSetHasItsOwnAndTheWorldNeedsAnother) {
  on_engines(Spread::node_each, 3, [](Driver& driver, int rank) {
    Request adding;
    adding.what.kind = Kind::add_set;
    adding.what.name = "set";
    adding.what.members = {0, 2};
    const int set = static_cast<int>(driver.run(adding).counts.at(0));
    std::vector<float> values(3, 1.0f), none;
    if (rank != 1) {
      meet_on_devices(driver, set, {0, 2}, rank, fake);
      Request asked = on_device(request(Kind::allreduce, "w", values));
      asked.what.set = set;
      EXPECT_EQ(driver.run(asked).error, "");
      EXPECT_EQ(values.front(), 2.0f);
    }
    EXPECT_THAT(driver.run(on_device(request(Kind::allreduce, "x", values))).error,
                HasSubstr("\"x\" is on GPUs: call longship_nccl_open for process set 0 first"));
    EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
  });
}

TEST(Device, WhatGpusCannotDoIsRefused) {
  on_devices(2, [](Driver& driver, int) {
    std::vector<float> values(3), none;
    const auto problem = [&](Request asked) {
      return message_of([&] { static_cast<void>(driver.submit(on_device(std::move(asked)))); });
    };
    EXPECT_THAT(problem(request(Kind::allreduce, "w", values, Op::adasum)),
                HasSubstr("GPUs have no such reduction"));
    Request asked = request(Kind::allreduce, "w", values);
    asked.what.postscale = 2;
    EXPECT_THAT(problem(asked), HasSubstr("scale it before and after"));
    asked = request(Kind::allreduce, "w", values);
    asked.what.wire = Type::bf16;
    EXPECT_THAT(problem(asked), HasSubstr("has to be 16 bits"));
    EXPECT_THAT(problem(request(Kind::allgather, "w", values)), HasSubstr("no output"));
    asked = request(Kind::alltoall, "w", values);
    asked.splits = {1, 2};
    EXPECT_THAT(problem(asked), HasSubstr("equal parts"));
    asked = on_device(request(Kind::reducescatter, "w", values));
    asked.output = asked.data;
    EXPECT_THAT(driver.run(asked).error, HasSubstr("3 elements are not 2 equal parts"));
    EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
  });
}

TEST(Device, RanksThatDifferAndRanksThatHaveJoinedAreNamed) {
  on_devices(2, [](Driver& driver, int rank) {
    std::vector<float> values(3), none;
    Request asked = request(Kind::allreduce, "w", values);
    asked.what.device = rank == 0;
    EXPECT_THAT(driver.run(asked).error, HasSubstr("all-reduce (sum) of 3 f32 on GPUs by rank 0"));
    if (rank == 0) {
      EXPECT_THAT(driver.run(on_device(request(Kind::allreduce, "x", values))).error,
                  HasSubstr("\"x\" is on GPUs, where a rank that has joined cannot take part"));
    }
    EXPECT_EQ(driver.run(request(Kind::join, std::string(join_name), none)).error, "");
  });
}

TEST(Device, AnErrorOfNcclReachesTheCallerInItsWordsAndTheGroupIsGivenUp) {
  const auto before = of_fake<std::uint64_t()>("fake_nccl_aborted")();
  std::optional<Failing> failing;
  std::barrier both(2);
  on_devices(2, [&](Driver& driver, int rank) {
    std::vector<float> values(3);
    if (rank == 0) failing.emplace("ncclAllReduce");
    both.arrive_and_wait();
    EXPECT_THAT(driver.run(on_device(request(Kind::allreduce, "w", values))).error,
                HasSubstr("NCCL cannot all-reduce: unhandled system error"));
    both.arrive_and_wait();
  });
  failing.reset();
  EXPECT_EQ(of_fake<std::uint64_t()>("fake_nccl_aborted")(), before + 2);
}

TEST(Device, ARankWithoutNcclIsNamedToTheOthers) {
  on_engines(Spread::node_each, 3, [](Driver& driver, int rank) {
    const std::string file = rank == 1 ? "/nowhere/libnccl.so.2" : fake;
    EXPECT_THAT(message_of([&] { meet_on_devices(driver, 0, world(3), rank, file); }),
                HasSubstr(rank == 1 ? "/nowhere/libnccl.so.2" : "NCCL cannot be used by rank 1"));
    std::vector<float> none;
    EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
  });
}

TEST(Device, WhereRanksCannotMeetNcclSaysWhy) {
  on_engines(Spread::node_each, 1, [](Driver& driver, int rank) {
    const Failing failing("ncclCommInitRank");
    EXPECT_EQ(message_of([&] { meet_on_devices(driver, 0, {0}, rank, fake); }),
              "NCCL cannot meet the other ranks: unhandled system error");
  });
  on_engines(Spread::node_each, 1, [](Driver& driver, int rank) {
    const Failing failing("ncclGetUniqueId");
    EXPECT_EQ(message_of([&] { meet_on_devices(driver, 0, {0}, rank, fake); }),
              "NCCL cannot begin: unhandled system error");
  });
}

TEST(Device, GroupsAreReturnedToNccl) {
  const auto before = of_fake<std::uint64_t()>("fake_nccl_destroyed")();
  on_devices(2, [](Driver& driver, int) {
    std::vector<float> none;
    EXPECT_EQ(driver.run(request(Kind::barrier, "met", none)).error, "");
  });
  EXPECT_EQ(of_fake<std::uint64_t()>("fake_nccl_destroyed")(), before + 2);
}

}  // namespace
}  // namespace longship::collective
