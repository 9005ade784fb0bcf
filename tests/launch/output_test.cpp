// SPDX-License-Identifier: Apache-2.0
#include "launch/output.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "base/file.h"

namespace longship::launch {
namespace {

// Files of this process end here, as on a full disk.
class NoRoom {
 public:
  explicit NoRoom(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~NoRoom() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(RankFilesTest, KeepsEveryByteOfEachStream) {
  const TemporaryDirectory directory;
  RankFiles files(directory.path(), 3, 2);
  files.write(0, Stream::out, "a\nb");
  files.write(1, Stream::err, "c");
  files.write(0, Stream::out, "c\n");
  EXPECT_EQ(read_file(directory.path() / "rank-00003.out"), "a\nbc\n");
  EXPECT_EQ(read_file(directory.path() / "rank-00003.err"), "");
  EXPECT_EQ(read_file(directory.path() / "rank-00004.err"), "c");
}

TEST(RankFilesTest, WhatDidNotFitIsMarkedWhereThereIsRoomAgain) {
  const TemporaryDirectory directory;
  RankFiles files(directory.path(), 0, 1);
  {
    const NoRoom full(4);
    files.write(0, Stream::out, "1234");
    files.write(0, Stream::out, "5678");
    files.write(0, Stream::out, "9");
    files.write(0, Stream::err, "fits");
  }
  files.write(0, Stream::out, "ten\n");
  files.write(0, Stream::out, "eleven\n");
  EXPECT_EQ(read_file(directory.path() / "rank-00000.out"),
            "1234" + std::string(RankFiles::gap_line) + "ten\neleven\n");
  EXPECT_EQ(read_file(directory.path() / "rank-00000.err"), "fits");
}

}  // namespace
}  // namespace longship::launch
