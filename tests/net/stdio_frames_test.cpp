// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "expect.h"
#include "net/frame_stream.h"

namespace longship::net {
namespace {

using namespace std::chrono_literals;

struct Ends {
  std::unique_ptr<FrameStream> here, there;
};
Ends connected() {
  Pipe to = make_pipe(), fro = make_pipe();
  return {stdio_frames(fro.read.release(), to.write.release()),
          stdio_frames(to.read.release(), fro.write.release())};
}

TEST(StdioFramesTest, FramesArriveWholeAndInOrder) {
  auto [here, there] = connected();
  const std::string large(3 << 20, 'x');
  std::thread sender([&] {
    here->send("one");
    here->send("");
    here->send(large);
  });
  EXPECT_EQ(there->receive(10s), "one");
  EXPECT_EQ(there->receive(10s), "");
  EXPECT_EQ(there->receive(10s), large);
  sender.join();
  EXPECT_EQ(there->receive(0ms), std::nullopt);
  EXPECT_TRUE(there->open());
}

TEST(StdioFramesTest, TheDescriptorIsReadableWhenAFrameCame) {
  auto [here, there] = connected();
  pollfd waited{there->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&waited, 1, 0), 0);
  here->send("x");
  EXPECT_EQ(::poll(&waited, 1, 5000), 1);
}

TEST(StdioFramesTest, TheOthersEndIsSaidAfterItsLastFrame) {
  auto [here, there] = connected();
  here->send("last");
  here.reset();
  EXPECT_EQ(there->receive(10s), "last");
  EXPECT_EQ(there->receive(10s), std::nullopt);
  EXPECT_FALSE(there->open());
  EXPECT_EQ(there->ended_because(), "the other side ended");
}

TEST(StdioFramesTest, AnEndInTheMiddleOfAFrameIsSaid) {
  Pipe to = make_pipe(), fro = make_pipe();
  const auto stream = stdio_frames(to.read.release(), fro.write.release());
  write_all(to.write.get(), std::string("\5\0\0\0ab", 6));
  to.write.reset();
  EXPECT_EQ(stream->receive(10s), std::nullopt);
  EXPECT_EQ(stream->ended_because(), "the other side ended in the middle of a frame");
}

TEST(StdioFramesTest, WhatIsNoFrameEndsTheStream) {
  Pipe to = make_pipe(), fro = make_pipe();
  const auto stream = stdio_frames(to.read.release(), fro.write.release());
  write_all(to.write.get(), "Last login: Monday\n");  // a shell that talks
  EXPECT_EQ(stream->receive(10s), std::nullopt);
  EXPECT_FALSE(stream->open());
  EXPECT_EQ(stream->ended_because(), "the other side sent what is no frame");
}

TEST(StdioFramesTest, CloseWakesAReader) {
  auto [here, there] = connected();
  std::thread closer([&, stream = there.get()] { stream->close(); });
  EXPECT_EQ(there->receive(60s), std::nullopt);
  closer.join();
  EXPECT_FALSE(there->open());
  EXPECT_EQ(message_of([&, stream = there.get()] { stream->send("x"); }),
            "the connection is closed: this side closed it");
}

TEST(StdioFramesTest, SendingToNobodyIsAnError) {
  Pipe to = make_pipe(), fro = make_pipe();
  const auto stream = stdio_frames(to.read.release(), fro.write.release());
  fro.read.reset();
  EXPECT_EQ(message_of([&] { stream->send("x"); }),
            "the connection is closed: cannot write to the other side: Broken pipe");
}

TEST(StdioFramesTest, AFrameThatIsTooLongIsNotSent) {
  auto [here, there] = connected();
  const std::string huge(largest_frame + 1, 'x');
  EXPECT_EQ(message_of([&, stream = here.get()] { stream->send(huge); }),
            "a frame of 16777217 bytes is too long to be sent");
  EXPECT_TRUE(here->open());
}

}  // namespace
}  // namespace longship::net
