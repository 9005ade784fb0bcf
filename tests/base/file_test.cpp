// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "expect.h"

namespace longship {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

TEST(FileTest, WhatIsWrittenIsRead) {
  const TemporaryDirectory home;
  std::string bytes(100'000, 'x');
  bytes[50'000] = '\0';
  write_file(home.path() / "f", bytes);
  EXPECT_EQ(read_file(home.path() / "f"), bytes);
  EXPECT_EQ(entries(home.path()), 1u);
}

TEST(FileTest, MissingFileIsNamed) {
  EXPECT_EQ(message_of([] { (void)read_file("/nowhere/x"); }),
            "cannot open /nowhere/x: No such file or directory");
}

TEST(FileTest, APartEndsWhereTheFileDoes) {
  const TemporaryDirectory home;
  const auto file = home.path() / "f";
  EXPECT_EQ(size_if_there(file), 0u);
  write_file(file, "0123456789");
  EXPECT_EQ(size_if_there(file), 10u);
  EXPECT_EQ(read_part(file, 2, 3), "234");
  EXPECT_EQ(read_part(file, 8, 100), "89");
  EXPECT_EQ(read_part(file, 10, 100), "");
  EXPECT_THAT(message_of([&] { (void)read_part(home.path() / "g", 0, 1); }), HasSubstr("cannot open"));
}

TEST(FileTest, FileBeyondTheLimitIsRefused) {
  const TemporaryDirectory home;
  write_file(home.path() / "f", std::string(100, 'x'));
  EXPECT_THAT(message_of([&] { (void)read_file(home.path() / "f", 99); }), HasSubstr("larger than 99 bytes"));
  EXPECT_EQ(read_file(home.path() / "f", 100).size(), 100u);
}

TEST(FileTest, WithoutCommitNothingAppears) {
  const TemporaryDirectory home;
  {
    PendingFile file(home.path() / "f");
    write_all(file.fd(), "half");
    EXPECT_EQ(entries(home.path()), 1u);
  }
  EXPECT_EQ(entries(home.path()), 0u);
}

TEST(FileTest, TheLastLineThatSaysSomethingIsFoundInAFileOfAnySize) {
  const TemporaryDirectory home;
  const auto file = home.path() / "log";
  EXPECT_EQ(last_line_of(file), "");
  write_file(file, "one\ntwo\n\n");
  EXPECT_EQ(last_line_of(file), "two");
  EXPECT_EQ(last_line_of(file, 4), "two");
  EXPECT_EQ(last_line_of(file, 9), "");
  EXPECT_EQ(last_line_of(file, 100), "");
  write_file(file, std::string(100'000, 'x') + "\nlast");
  EXPECT_EQ(last_line_of(file), "last");
  std::filesystem::resize_file(file, std::uintmax_t{3} << 30);
  EXPECT_EQ(last_line_of(file).size(), 4096u);
}

TEST(FileTest, WhereNothingCanBeWrittenTheDirectoryIsNamedAndNotTheNameAside) {
  EXPECT_EQ(message_of([] { write_file("/nowhere/f", "x"); }),
            "cannot write /nowhere/f: cannot make a file in /nowhere: No such file or directory");
}

TEST(FileTest, FailedWriteKeepsTheOldFile) {
  const TemporaryDirectory home;
  write_file(home.path() / "f", "old");
  // A file size limit stands in for a full disk: write() fails in the middle of the file.
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto text = message_of([&] { write_file(home.path() / "f", std::string(5000, 'n')); });
    ::_exit(text.find("cannot write") == 0 && text.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(home.path() / "f"), "old");
  EXPECT_EQ(entries(home.path()), 1u);
}

TEST(FileTest, KilledWriterLeavesOldOrNewFile) {
  const TemporaryDirectory home;
  const std::string old_bytes(200'000, 'o'), new_bytes(300'000, 'n');
  for (int attempt = 0; attempt < 20; ++attempt) {
    write_file(home.path() / "f", old_bytes);
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) write_file(home.path() / "f", new_bytes);
    }
    ::usleep(static_cast<useconds_t>(attempt * 300));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto found = read_file(home.path() / "f");
    EXPECT_TRUE(found == old_bytes || found == new_bytes);
  }
}

TEST(FileTest, TemporaryDirectoryGoesWithAllThatIsInIt) {
  fs::path path;
  {
    const TemporaryDirectory home("keel");
    path = home.path();
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777u, 0700u);
    fs::create_directories(path / "a" / "b");
    write_file(path / "a" / "b" / "f", "x");
    fs::permissions(path / "a" / "b", fs::perms::owner_read | fs::perms::owner_exec);
    fs::create_symlink("/etc", path / "link");
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST(FileTest, KeptDirectoryStays) {
  fs::path path;
  {
    TemporaryDirectory home;
    path = home.keep();
  }
  EXPECT_TRUE(fs::exists(path));
  EXPECT_TRUE(remove_tree(path));
}

}  // namespace
}  // namespace longship
