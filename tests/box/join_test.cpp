// SPDX-License-Identifier: Apache-2.0
// Several processes in one box, which have nothing in common but its name.
#include "box/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "forked.h"

namespace longship::box {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

const Environment path = {{"PATH", "/usr/bin:/bin"}};
constexpr const char* spaces = "readlink /proc/self/ns/user /proc/self/ns/mnt";

class JoinTest : public testing::Test {
 protected:
  JoinTest() {
    fs::permissions(temporary_.path(), fs::perms(0700));
    if (::geteuid() == 0 && ::chown(temporary_.path().c_str(), ordinary_id, ordinary_id) != 0)
      throw Error("chown");
  }

  Said run(const std::string& name, const std::string& script) const {
    return in_child([&] { become(name, script); });
  }

  // Leaves it running; its input ends with the test.
  pid_t start(const std::string& name, const std::string& script) const {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        become(name, script);
      } catch (const std::exception&) {
      }
      ::_exit(99);
    }
    return child;
  }

  void become(const std::string& name, const std::string& script) const {
    ::setenv("XDG_RUNTIME_DIR", temporary_.path().c_str(), 1);
    become_ordinary();
    Spec spec;
    spec.root = "/";
    spec.home = false;
    spec.working_directory = "/";
    spec.join = name;
    enter(spec);
    execute({"/bin/sh", "-c", script}, path);
  }

  void wait_for(const fs::path& file) const {
    for (int i = 0; i < 3000 && !fs::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(fs::exists(file));
  }
  void wait_until_gone(const fs::path& file) const {
    for (int i = 0; i < 3000 && fs::exists(file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_FALSE(fs::exists(file));
  }
  static void end(pid_t child, int number = SIGTERM) {
    ::kill(child, number);
    ::waitpid(child, nullptr, 0);
  }

  TemporaryDirectory temporary_{"longship-join", "/var/tmp"};
  const fs::path meeting_ = temporary_.path() / "longship-boxes";
};

TEST_F(JoinTest, TheSecondComesIntoTheBoxOfTheFirstAndTheLastClosesIt) {
  const pid_t first = start("ring", "exec sleep 600");
  wait_for(meeting_ / "ring.lock");
  const auto one = run("ring", spaces);  // waits until the first is inside
  const auto two = run("ring", spaces);
  const auto other = run("song", spaces);
  EXPECT_EQ(one.code, 0) << one.text;
  EXPECT_EQ(one.text, two.text);
  EXPECT_NE(one.text, other.text);
  EXPECT_TRUE(fs::exists(meeting_ / "ring"));
  end(first);
  wait_until_gone(meeting_);
}

TEST_F(JoinTest, AfterAKilledKeeperTheNextMakesABoxOfItsOwn) {
  fs::create_directories(meeting_);
  fs::permissions(meeting_, fs::perms(0700));
  write(meeting_ / "ring.lock", "");
  write(meeting_ / "old.lock", "");
  if (::geteuid() == 0) {
    for (const auto& file : {meeting_, meeting_ / "ring.lock", meeting_ / "old.lock"})
      ASSERT_EQ(::chown(file.c_str(), ordinary_id, ordinary_id), 0);
  }
  const auto said = run("ring", "ls " + (meeting_ / "old.lock").string() + " 2>&1; echo in");
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.text, HasSubstr("in\n"));
  wait_until_gone(meeting_);  // what the killed ones left is gone too
}

TEST_F(JoinTest, AnOpenDirectoryIsNotTrusted) {
  fs::create_directories(meeting_);
  fs::permissions(meeting_, fs::perms(0777));
  const auto said = run("ring", "true");
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.text, HasSubstr("is somebody else's: remove it, or set XDG_RUNTIME_DIR"));
}

TEST_F(JoinTest, ABoxThatCannotBeMadeLeavesNothingInTheWay) {
  const auto said = in_child([&] {
    ::setenv("XDG_RUNTIME_DIR", temporary_.path().c_str(), 1);
    become_ordinary();
    Spec spec;
    spec.root = "/no/such";
    spec.join = "ring";
    enter(spec);
  });
  EXPECT_THAT(said.text, HasSubstr("/no/such"));
  EXPECT_EQ(run("ring", "echo in").text, "in\n");
}

TEST_F(JoinTest, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"../x", "a/b", ".hidden", "a b"}) {
    const auto said = run(name, "true");
    EXPECT_EQ(said.code, 2);
    EXPECT_THAT(said.text, HasSubstr("cannot be the name of a box to join"));
  }
}

TEST(LauncherDirectories, OnlyAbsoluteOnesAreLetInAndEachOnce) {
  const auto binds = launcher_directories({{"PMIX_SERVER_TMPDIR", "/spool/pmix"},
                                           {"PMIX_SYSTEM_TMPDIR", "/spool/pmix"},
                                           {"PMIX_SERVER_NSPACE_TMPDIR", "relative"}});
  ASSERT_EQ(binds.size(), 1u);
  EXPECT_EQ(binds[0].from, "/spool/pmix");
  EXPECT_TRUE(binds[0].optional);
}

}  // namespace
}  // namespace longship::box
