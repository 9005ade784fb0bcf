// SPDX-License-Identifier: Apache-2.0
#include "collective/greeting.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "collective/socket.h"
#include "expect.h"

namespace longship::collective {
namespace {

using namespace std::chrono_literals;

Instant soon() {
  return std::chrono::steady_clock::now() + 20s;
}

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class PorterTest : public testing::Test {
 protected:
  [[nodiscard]] Fd connected() const { return connect_tcp("127.0.0.1", port_of(porter_.listener()), soon()); }

  const Bytes secret_ = bytes_of("sixteen bytes or more");
  Porter porter_{listen_tcp("127.0.0.1", 0), secret_};
};

TEST_F(PorterTest, WhoKnowsTheSecretIsLetInWithItsWords) {
  std::thread guest([&] { greet(connected().get(), secret_, bytes_of("rank 3"), soon()); });
  const auto met = porter_.next(soon());
  guest.join();
  ASSERT_TRUE(met);
  EXPECT_EQ(met->words, bytes_of("rank 3"));
}

// Answers with a wrong proof and never stops sending; the porter must neither store it nor wait for its end.
TEST_F(PorterTest, WhoNeverStopsTalkingHoldsNobodyUp) {
  const Fd stranger = connected();
  std::thread talker([&] {
    Bytes answer(32 + 4);  // a nonce, and no words
    const Bytes more(64 * 1024);
    ::send(stranger.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    while (::send(stranger.get(), more.data(), more.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  std::thread guest([&] { greet(connected().get(), secret_, bytes_of("rank 1"), soon()); });
  const auto met = porter_.next(soon());
  ASSERT_TRUE(met);
  EXPECT_EQ(met->words, bytes_of("rank 1"));
  guest.join();
  ::shutdown(stranger.get(), SHUT_RDWR);
  talker.join();
}

TEST_F(PorterTest, NobodyIsNothingWhenTheTimeIsOver) {
  EXPECT_FALSE(porter_.next(std::chrono::steady_clock::now()));
}

}  // namespace
}  // namespace longship::collective
