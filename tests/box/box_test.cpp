// SPDX-License-Identifier: Apache-2.0
// Boxes entered for real: the host's own "/" as the image, or a small tree with the host's programs bound in.
#include "box/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdlib>

#include "forked.h"

namespace longship::box {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

const Environment path = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};

// A tree that has almost nothing: programs come by binds of the host's /usr, /bin, /lib, /lib64.
class BoxTest : public testing::TestWithParam<const char*> {
 protected:
  BoxTest() {
    fs::permissions(temporary_.path(), fs::perms(0755));
    write(root / "etc/marker", "the image's\n");
    write(root / "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    fs::create_directories(root / "usr");
    for (const char* name : {"bin", "sbin", "lib", "lib64"})
      fs::create_symlink(std::string("usr/") + name, root / name);
    spec.root = root;
    spec.home = false;
    spec.working_directory = "/";
    spec.binds.push_back({.from = "/usr", .to = "/usr", .read_only = true});
  }

  // As whom and with which kind of layers, by the test's parameter.
  Said run(const std::string& script) {
    return in_child([&] {
      ::setenv("LONGSHIP_ROOT", GetParam(), 1);
      become_ordinary();
      enter(spec);
      execute({"/bin/sh", "-c", script}, path);
    });
  }

  TemporaryDirectory temporary_;
  const fs::path root = temporary_.path() / "root";
  Spec spec;
};

TEST_P(BoxTest, TheImageIsTheRootAndReadOnly) {
  const auto said = run("cat /etc/marker; touch /x /etc/x /usr/x");
  EXPECT_THAT(said.text, StartsWith("the image's\n"));
  for (const char* place : {"'/x': Read-only", "'/etc/x': Read-only", "'/usr/x': Read-only"})
    EXPECT_THAT(said.text, HasSubstr(place));
}

TEST_P(BoxTest, ExitCodesAndSignalsAreTheCommandsOwn) {
  EXPECT_EQ(run("exit 42").code, 42);
  EXPECT_EQ(run("kill -TERM $$").code, 128 + SIGTERM);
}

TEST_P(BoxTest, HostDirectoriesAreLetInWithoutTouchingTheImage) {
  const auto said =
      run("test -e /proc/self/status && test -d /sys/class && test -c /dev/null && test -d /dev/shm && ls -d "
          "/tmp");
  EXPECT_EQ(said.text, "/tmp\n");
  EXPECT_FALSE(fs::exists(root / "proc"));
  EXPECT_FALSE(fs::exists(root / "tmp"));
}

TEST_P(BoxTest, BindsGoWhereTheyAreAskedTo) {
  write(temporary_.path() / "data/a", "one\n");
  write(temporary_.path() / "file", "two\n");
  spec.binds.push_back({.from = temporary_.path() / "data", .to = "/new/deep/data", .read_only = true});
  spec.binds.push_back({.from = temporary_.path() / "file", .to = "/etc/new-file"});
  spec.binds.push_back({.from = "/does/not/exist", .to = "/x", .optional = true});
  const auto said = run("cat /new/deep/data/a /etc/new-file /etc/marker; touch /new/deep/data/b; test -e /x");
  EXPECT_THAT(said.text, StartsWith("one\ntwo\nthe image's\n"));
  EXPECT_THAT(said.text, HasSubstr("Read-only file system"));
  EXPECT_EQ(said.code, 1);
}

TEST_P(BoxTest, LinksInTheImageDoNotLeadOut) {
  fs::create_symlink("/etc", root / "link");
  fs::create_symlink("../../../../../../../../../..", root / "up");
  write(temporary_.path() / "file", "bound\n");
  spec.binds.push_back({.from = temporary_.path() / "file", .to = "/link/marker"});
  spec.binds.push_back({.from = temporary_.path() / "file", .to = "/up/over"});
  const auto said = run("cat /etc/marker /over");
  EXPECT_EQ(said.text, "bound\nbound\n");
  EXPECT_EQ(read(root / "etc/marker"), "the image's\n");
}

TEST_P(BoxTest, TheCallerHasAName) {
  const auto said = run("id -un; id -u");
  EXPECT_THAT(said.text,
              ::geteuid() == 0 ? EndsWith("\n12345\n") : EndsWith("\n" + std::to_string(::geteuid()) + "\n"));
  EXPECT_THAT(said.text, testing::Not(HasSubstr("cannot find name")));
}

TEST_P(BoxTest, APrivateTmpIsEmptyAndWritable) {
  spec.private_tmp = true;
  const auto said = run("ls -A /tmp; stat -c %a /tmp; echo x > /tmp/y && cat /tmp/y");
  EXPECT_EQ(said.text, "1777\nx\n");
}

TEST_P(BoxTest, AMissingWorkingDirectoryIsAnError) {
  spec.working_directory = "/no/such";
  EXPECT_EQ(
      run("true").text,
      "cannot enter the box: cannot start in /no/such, the working directory: No such file or directory\n");
}

TEST_P(BoxTest, AMissingBindIsAnError) {
  spec.binds.push_back({.from = "/does/not/exist", .to = "/x"});
  EXPECT_EQ(run("true").text,
            "cannot enter the box: cannot let /does/not/exist into the box: No such file or directory\n");
}

TEST_P(BoxTest, ABindToARelativePlaceIsAnError) {
  spec.binds.push_back({.from = "/etc", .to = "x"});
  const auto said = run("true");
  EXPECT_EQ(said.text,
            "cannot enter the box: cannot let /etc into the box at \"x\": that is not an absolute path\n");
  EXPECT_EQ(said.code, 2);
}

TEST_P(BoxTest, APlaceBelowTheHostsOwnIsNotInvented) {
  spec.binds.push_back({.from = "/etc", .to = "/usr/share/not-there-on-the-host"});
  EXPECT_THAT(run("true").text,
              HasSubstr("cannot let /etc into the box at /usr/share/not-there-on-the-host"));
}

TEST_P(BoxTest, TheWorkingDirectoryComesAlong) {
  spec.working_directory.clear();
  spec.private_tmp = true;
  const fs::path here = temporary_.path() / "work";
  fs::create_directories(here);
  const auto said = in_child([&] {
    ::setenv("LONGSHIP_ROOT", GetParam(), 1);
    become_ordinary();
    fs::current_path("/var");  // not in the image
    enter(spec);
    execute({"/bin/sh", "-c", "pwd; ls -d lib"}, path);
  });
  EXPECT_EQ(said.text, "/var\nlib\n");
}

TEST_P(BoxTest, OnARamdiskTheRootIsCovered) {
  const auto said = in_child([&] {
    ::setenv("LONGSHIP_ROOT", GetParam(), 1);
    become_ordinary();
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(pivot_root), 0);  // as it answers there
    if (seccomp_load(filter) != 0) throw Error("no seccomp here");
    enter(spec);
    execute({"/bin/sh", "-c", "cat /etc/marker; ls -d /host /layers; unshare -U echo nested"}, path);
  });
  EXPECT_THAT(said.text, StartsWith("the image's\n"));
  EXPECT_THAT(said.text, HasSubstr("'/host': No such file"));
  EXPECT_THAT(said.text, EndsWith("nested\n"));
}

INSTANTIATE_TEST_SUITE_P(Layers, BoxTest, testing::Values("overlay", "underlay"),
                         [](const auto& about) { return std::string(about.param); });

using WritableBoxTest = BoxTest;
INSTANTIATE_TEST_SUITE_P(Layers, WritableBoxTest, testing::Values("overlay"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(WritableBoxTest, WhatIsWrittenIsGoneAfterwards) {
  fs::permissions(root, fs::perms(0777));
  spec.writable = Writable::temporary;
  EXPECT_EQ(run("echo new > /x && cat /x && rm /etc/marker; cat /x").text.substr(0, 4), "new\n");
  EXPECT_FALSE(fs::exists(root / "x"));
  EXPECT_TRUE(fs::exists(root / "etc/marker"));
}

TEST_P(WritableBoxTest, ABuildsStepIsCaptured) {
  const fs::path upper = temporary_.path() / "upper";
  fs::create_directories(upper);
  if (::geteuid() == 0) {  // all of it has to be the user's own
    for (const auto& entry : fs::recursive_directory_iterator(temporary_.path()))
      ASSERT_EQ(::lchown(entry.path().c_str(), ordinary_id, ordinary_id), 0);
    ASSERT_EQ(::chown(temporary_.path().c_str(), ordinary_id, ordinary_id), 0);
  }
  spec.writable = Writable::directory;
  spec.upper = upper;
  spec.fake_root = true;
  const auto said =
      run("id -u; echo new > /added; rm /etc/marker; mkdir /d; chown 7:8 /added && chgrp 9 /d && mknod "
          "/dev-node c 1 3 && "
          "mkfifo /pipe && echo fine");
  EXPECT_EQ(said.text, "0\nfine\n");
  EXPECT_EQ(read(upper / "added"), "new\n");
  EXPECT_TRUE(fs::is_directory(upper / "d"));
  EXPECT_TRUE(fs::is_fifo(upper / "pipe"));
  EXPECT_FALSE(fs::exists(upper / "dev-node"));
  EXPECT_FALSE(fs::exists(upper / "proc"));
  EXPECT_FALSE(fs::exists(upper / "etc/resolv.conf"));
  struct stat whiteout = {};
  ASSERT_EQ(::lstat((upper / "etc/marker").c_str(), &whiteout), 0);
  EXPECT_TRUE(S_ISCHR(whiteout.st_mode) && whiteout.st_rdev == makedev(0, 0));
}

TEST_P(WritableBoxTest, AMissingUpperDirectoryIsAnError) {
  spec.writable = Writable::directory;
  spec.upper = "/no/such";
  EXPECT_EQ(run("true").text,
            "cannot enter the box: cannot use /no/such for what the box writes: No such file or directory\n");
}

TEST_P(WritableBoxTest, WithoutOverlayItIsImpossible) {
  spec.writable = Writable::temporary;
  const auto said = in_child([&] {
    ::setenv("LONGSHIP_ROOT", "underlay", 1);
    become_ordinary();
    enter(spec);
  });
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.text, HasSubstr("a writable box needs an overlay file system"));
}

TEST(NestedBoxTest, ABoxFitsIntoABox) {
  const auto said = in_child([] {
    become_ordinary();
    Spec spec;
    spec.root = "/";
    for (int depth = 0; depth < 4; ++depth) enter(spec);
    execute({"/bin/echo", "deep"}, path);
  });
  EXPECT_EQ(said.text, "deep\n");
}

TEST(ExecuteTest, AProgramThatIsNotThereIs127) {
  Environment boxed = path;
  boxed["LONGSHIP_IN_BOX"] = "1";
  const auto said = in_child([&] { execute({"no-such-program"}, boxed); });
  EXPECT_EQ(said.code, 127);
  EXPECT_EQ(said.text, "longship: error: there is no program no-such-program in the box's PATH\n");
  EXPECT_EQ(in_child([] { execute({"/no/such"}, path); }).code, 127);
  EXPECT_EQ(in_child([] { execute({}, path); }).code, 127);
  EXPECT_EQ(in_child([] { execute({""}, path); }).text,
            "longship: error: there is no program \"\" in PATH\n");
  EXPECT_EQ(in_child([] { execute({"no-such-program"}, path); }).text,
            "longship: error: there is no program no-such-program in PATH\n");
}

TEST(ExecuteTest, AProgramThatMayNotRunIs126) {
  const auto said = in_child([] { execute({"/etc/passwd"}, path); });
  EXPECT_EQ(said.code, 126);
  EXPECT_EQ(said.text, "longship: error: cannot run /etc/passwd: Permission denied\n");
  EXPECT_EQ(in_child([] { execute({"/etc"}, path); }).code, 126);
}

TEST(ExecuteTest, AForbiddenProgramIsPassedOverInPath) {
  const TemporaryDirectory temporary;
  write(temporary.path() / "echo", "not executable");
  const auto said = in_child([&] {
    execute({"echo", "a b"}, {{"PATH", temporary.path().string() + ":/usr/bin:/bin"}});
  });
  EXPECT_EQ(said.text, "a b\n");
}

TEST(ExecuteTest, AScriptWithoutAFirstLineIsTheShells) {
  const TemporaryDirectory temporary;
  write(temporary.path() / "script", "echo \"$1\"\n");
  fs::permissions(temporary.path() / "script", fs::perms(0755));
  const auto said = in_child([&] { execute({(temporary.path() / "script").string(), "x y"}, path); });
  EXPECT_EQ(said.text, "x y\n");
}

}  // namespace
}  // namespace longship::box
