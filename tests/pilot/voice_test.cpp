// SPDX-License-Identifier: Apache-2.0
#include "pilot/voice.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/file.h"

namespace longship::pilot {
namespace {

using namespace std::chrono_literals;

std::vector<message::FromPilot> read(const std::filesystem::path& path) {
  std::vector<message::FromPilot> messages;
  RecordLogReader log(path);
  while (const auto record = log.next())
    for (auto& message : message::decode_from_pilot(record->payload)) messages.push_back(std::move(message));
  return messages;
}

// While it lives, no file can grow: as on a full disk.
class NoSpace {
 public:
  NoSpace() {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  NoSpace(const NoSpace&) = delete;
  NoSpace& operator=(const NoSpace&) = delete;
  ~NoSpace() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(VoiceTest, WhatIsSaidTogetherIsOneRecord) {
  const TemporaryDirectory home;
  ManualClock clock;
  Voice voice(home.path() / "log");
  voice.say(message::Left{"a"});
  voice.say(message::Left{"b"});
  EXPECT_TRUE(voice.flush(clock.now()));
  EXPECT_EQ(RecordLogWriter(home.path() / "log").next_number(), 1u);
  EXPECT_EQ(read(home.path() / "log").size(), 2u);
}

TEST(VoiceTest, OnAFullDiskNothingIsForgotten) {
  const TemporaryDirectory home;
  ManualClock clock;
  clock.advance(1h);
  Voice voice(home.path() / "log");
  voice.say(message::Left{"first"});
  {
    const NoSpace full;
    EXPECT_FALSE(voice.flush(clock.now()));
    voice.say(message::Left{"second"});
    EXPECT_EQ(voice.wake(), clock.now() + 1s);
    EXPECT_FALSE(voice.flush(clock.now()));
  }
  EXPECT_FALSE(voice.flush(clock.now()));  // not before its time
  clock.advance(1s);
  EXPECT_TRUE(voice.flush(clock.now()));
  EXPECT_EQ(read(home.path() / "log"),
            (std::vector<message::FromPilot>{message::Left{"first"}, message::Left{"second"}}));
}

TEST(VoiceTest, ALotIsWrittenInPortions) {
  const TemporaryDirectory home;
  ManualClock clock;
  Voice voice(home.path() / "log");
  for (int i = 0; i < 2500; ++i) voice.say(message::Left{std::to_string(i)});
  EXPECT_TRUE(voice.flush(clock.now()));
  EXPECT_EQ(RecordLogWriter(home.path() / "log").next_number(), 3u);
  EXPECT_EQ(read(home.path() / "log").size(), 2500u);
}

}  // namespace
}  // namespace longship::pilot
