// SPDX-License-Identifier: Apache-2.0
// What every Transport must do. A test instantiates it with the ways in which its ranks can be spread.
#pragma once
#include <numeric>

#include "worlds.h"

namespace longship::collective {

class TransportConformance : public testing::TestWithParam<Spread> {
 protected:
  static std::vector<std::byte> pattern(std::size_t length, int seed) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
      bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(seed));
    return bytes;
  }
};

TEST_P(TransportConformance, MessagesOfEverySizeArriveUnchanged) {
  for (const std::size_t length : {0u, 1u, 15u, 16u, 17u, 4096u, 65535u, 262144u, 262145u, 3'000'001u}) {
    on_every_rank(GetParam(), 2, [&](StreamTransport& transport) {
      const int peer = 1 - transport.rank();
      const auto out = pattern(length, transport.rank());
      std::vector<std::byte> in(length);
      Completion sent, received;
      transport.send(peer, 7, out, sent);
      transport.receive(peer, 7, in, received);
      drive(transport, [&] { return sent.done && received.done; });
      EXPECT_EQ(received.bytes, length);
      EXPECT_EQ(in, pattern(length, peer));
    });
  }
}

TEST_P(TransportConformance, EveryRankSpeaksWithEveryOtherAtOnce) {
  const auto length_of = [](int from, int to) { return static_cast<std::size_t>(1 + 40'000 * from + to); };
  for (int size = 1; size <= 5; ++size)
    on_every_rank(GetParam(), size, [&](StreamTransport& transport) {
      const int own = transport.rank();
      const auto n = static_cast<std::size_t>(size);
      std::vector<std::vector<std::byte>> out(n), in(n);
      std::deque<Completion> all;
      for (int peer = 0; peer < size; ++peer) {
        if (peer == own) continue;
        const auto place = static_cast<std::size_t>(peer);
        out[place] = pattern(length_of(own, peer), 10 * own + peer);
        in[place].resize(length_of(peer, own));
        transport.receive(peer, 3, in[place], all.emplace_back());
        transport.send(peer, 3, out[place], all.emplace_back());
      }
      for (auto& one : all) drive(transport, [&] { return one.done; });
      for (int peer = 0; peer < size; ++peer) {
        const auto length = peer == own ? 0 : length_of(peer, own);
        EXPECT_EQ(in[static_cast<std::size_t>(peer)], pattern(length, 10 * peer + own));
      }
    });
}

TEST_P(TransportConformance, MessagesOfATagKeepTheirOrderAndTagsDoNotMix) {
  on_every_rank(GetParam(), 3, [&](StreamTransport& transport) {
    constexpr int count = 200;
    if (transport.rank() == 0) {
      std::vector<int> values(count);
      std::iota(values.begin(), values.end(), 0);
      std::deque<Completion> sent;
      for (int peer = 1; peer < 3; ++peer)
        for (const int& value : values)
          transport.send(peer, static_cast<Tag>(value % 2), std::as_bytes(std::span(&value, 1)),
                         sent.emplace_back());
      for (auto& one : sent) drive(transport, [&] { return one.done; });
      return;
    }
    for (const int parity : {1, 0}) {  // the other way round than they were sent
      for (int expected = parity; expected < count; expected += 2) {
        int value = -1;
        Completion received;
        transport.receive(0, static_cast<Tag>(parity), std::as_writable_bytes(std::span(&value, 1)),
                          received);
        drive(transport, [&] { return received.done; });
        ASSERT_EQ(value, expected);
      }
    }
  });
}

TEST_P(TransportConformance, AShorterMessageSaysItsLength) {
  on_every_rank(GetParam(), 2, [&](StreamTransport& transport) {
    const auto out = pattern(10, 0);
    std::vector<std::byte> in(100);
    Completion done;
    if (transport.rank() == 0)
      transport.send(1, 1, out, done);
    else
      transport.receive(0, 1, in, done);
    drive(transport, [&] { return done.done; });
    EXPECT_EQ(done.bytes, 10u);
  });
}

TEST_P(TransportConformance, AMessageThatIsTooLongIsAnError) {
  auto all = wirings(GetParam(), 2);
  StreamTransport sender(std::move(all[0])), receiver(std::move(all[1]));
  const auto out = pattern(100, 0);
  std::vector<std::byte> in(10);
  Completion sent, received;
  sender.send(1, 1, out, sent);
  receiver.receive(0, 1, in, received);
  EXPECT_ANY_THROW(drive(receiver, [&] { return received.done; }));
}

TEST_P(TransportConformance, WakeEndsAWaitOfAnotherThread) {
  on_every_rank(GetParam(), 2, [&](StreamTransport& transport) {
    std::thread waker([&] { transport.wake(); });
    if (transport.arm()) transport.wait(std::chrono::steady_clock::now() + std::chrono::hours(1));
    waker.join();
  });
}

TEST_P(TransportConformance, AWaitEndsAtItsTime) {
  on_every_rank(GetParam(), 2, [&](StreamTransport& transport) {
    transport.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
    transport.wait(std::chrono::steady_clock::now() - std::chrono::seconds(5));
  });
}

TEST_P(TransportConformance, ARankThatEndsWithoutLeavingIsLost) {
  auto all = wirings(GetParam(), 3);
  std::vector<std::unique_ptr<StreamTransport>> ranks;
  for (auto& wiring : all) ranks.push_back(std::make_unique<StreamTransport>(std::move(wiring)));
  ranks[2].reset();
  for (int rank = 0; rank < 2; ++rank) {
    try {
      drive(*ranks[static_cast<std::size_t>(rank)], [] { return false; });
      ADD_FAILURE();
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("rank 2 was lost"), std::string::npos) << error.what();
    }
  }
}

TEST_P(TransportConformance, ARankThatLeavesIsNoLossAndWhatItSentArrives) {
  auto all = wirings(GetParam(), 2);
  StreamTransport stays(std::move(all[0]));
  auto goes = std::make_unique<StreamTransport>(std::move(all[1]));
  const auto out = pattern(1000, 3);
  std::vector<std::byte> in(1000);
  Completion sent, received;
  goes->send(0, 5, out, sent);
  ASSERT_TRUE(sent.done);
  ASSERT_TRUE(goes->leave());
  goes.reset();
  stays.receive(1, 5, in, received);
  drive(stays, [&] { return received.done; });
  EXPECT_EQ(in, out);
  for (int i = 0; i < 5000; ++i) stays.progress();
}

}  // namespace longship::collective
