// SPDX-License-Identifier: Apache-2.0
#include "box/quick.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "base/process.h"
#include "box/fuse_device.h"
#include "box/keeper_program.h"
#include "expect.h"
#include "forked.h"

namespace longship::box {
namespace {

namespace fs = std::filesystem;
const Environment path = {{"PATH", "/usr/bin:/bin"}};
constexpr const char* no_keeper = "/nonexistent/keeper";
constexpr const char* spaces = "readlink /proc/self/ns/user /proc/self/ns/mnt";

class QuickTest : public testing::Test {
 protected:
  QuickTest() {
    fs::permissions(temporary_.path(), fs::perms(0700));
    if (::geteuid() == 0 && ::chown(temporary_.path().c_str(), ordinary_id, ordinary_id) != 0)
      throw Error("chown");
    spec_.root = "/";
    spec_.home = false;
    spec_.working_directory = "/";
  }

  void prepare() const {
    ::setenv("XDG_RUNTIME_DIR", temporary_.path().c_str(), 1);
    become_ordinary();
  }
  // What a script says in the box, or "more" if it takes more.
  Said run(const Spec& spec, const std::string& script) const {
    return in_child([&] {
      prepare();
      if (enter_quickly(spec, no_keeper)) execute({"/bin/sh", "-c", script}, path);
      write_all(STDOUT_FILENO, "more\n");
      execute({"/bin/sh", "-c", script}, path);
    });
  }
  static std::string outside() {
    return in_child([] {
             become_ordinary();
             execute({"/bin/sh", "-c", spaces}, path);
           })
        .text;
  }

  TemporaryDirectory temporary_;
  Spec spec_;
};

TEST_F(QuickTest, ADirectoryIsEntered) {
  const auto inside = run(spec_, spaces);
  EXPECT_EQ(inside.code, 0);
  EXPECT_NE(inside.text, outside());
  EXPECT_THAT(inside.text, testing::Not(testing::HasSubstr("more")));
}

TEST_F(QuickTest, WhatTakesMoreFindsNothingChanged) {
  Spec fake = spec_, disk = spec_, together = spec_;
  fake.fake_root = true;
  disk.writable = Writable::temporary;
  disk.upper = temporary_.path();
  together.join = "nobody-is-there";
  for (const Spec& spec : {fake, disk, together}) EXPECT_EQ(run(spec, spaces).text, "more\n" + outside());
  EXPECT_TRUE(fs::is_empty(temporary_.path())) << "something is left where boxes meet";
}

TEST_F(QuickTest, ABoxThatOthersMadeIsJoined) {
  spec_.join = "ring";
  Pipe ready = make_pipe();
  const pid_t first = ::fork();
  if (first == 0) {
    prepare();
    enter(spec_);
    write_all(ready.write.get(), "x");
    execute({"/bin/sleep", "600"}, path);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready.read.get(), &byte, 1), 1);
  const auto next = run(spec_, spaces);
  EXPECT_EQ(next.code, 0);
  EXPECT_EQ(next.text, run(spec_, spaces).text) << "each is in a box of its own";
  EXPECT_NE(next.text, outside());
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
}

TEST_F(QuickTest, AnImageWhoseKeeperCannotRunTakesMore) {
  if (!why_no_fuse().empty()) GTEST_SKIP() << why_no_fuse();
  const fs::path tree = temporary_.path() / "tree";
  fs::create_directories(tree / "usr");
  spec_.root = temporary_.path() / "image.sqfs";
  Command command;
  command.arguments = {"mksquashfs", tree, spec_.root, "-quiet", "-no-progress", "-all-root"};
  (void)output_of(command);
  const auto said = in_child([&] {
    ::setenv("XDG_RUNTIME_DIR", temporary_.path().c_str(), 1);
    write_all(STDOUT_FILENO, enter_quickly(spec_, no_keeper) ? "entered" : "more");
  });
  EXPECT_EQ(said.text, "more");
}

TEST_F(QuickTest, AKeeperWantsToBeToldAll) {
  const auto refusal = "--keep-image is for Longship itself";
  EXPECT_EQ(message_of([] { keep_as_told({}); }), refusal);
  EXPECT_EQ(message_of([] {
              keep_as_told({".image-1", "longship-boxes", "x", "4", "5", "6", "2", "0", ""});
            }),
            refusal);
}

}  // namespace
}  // namespace longship::box
