// SPDX-License-Identifier: Apache-2.0
// SquashFS files by each of the ways, mounted for one box alone; images are made with mksquashfs.
// shared_image_test.cpp has the mounts that boxes share.
#include "box/squashfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/process.h"
#include "box/box.h"
#include "box/fuse_device.h"
#include "box/unpack.h"
#include "expect.h"
#include "forked.h"

namespace longship::box {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::string said_by(std::vector<std::string> arguments) {
  Command command;
  command.arguments = std::move(arguments);
  return output_of(command);
}

class SquashfsTest : public testing::Test {
 protected:
  SquashfsTest() {
    fs::permissions(temporary_.path(), fs::perms(0755));
    const fs::path tree = temporary_.path() / "tree";
    write(tree / "etc/marker", "packed\n");
    write(tree / "big", std::string(700'000, 'x') + "end");
    fs::create_hard_link(tree / "etc/marker", tree / "etc/again");
    fs::create_symlink("etc/marker", tree / "link");
    fs::create_directories(tree / "usr");
    fs::create_directories(tree / "empty");
    for (int i = 0; i < 1000; ++i) write(tree / "many" / ("name-" + std::to_string(i)), std::to_string(i));
    for (const char* name : {"bin", "lib", "lib64"})
      fs::create_symlink(std::string("usr/") + name, tree / name);
    said_by({"mksquashfs", tree, image, "-comp", "zstd", "-quiet", "-no-progress", "-all-root"});
    spec.root = image;
    spec.home = false;
    spec.working_directory = "/";
    spec.binds.push_back({.from = "/usr", .to = "/usr", .read_only = true});
    spec.unpacked = temporary_.path() / "unpacked";
  }

  Said run(const char* way, const std::string& script) {
    return in_child([&] {
      ::setenv("LONGSHIP_SHARE", "no", 1);
      ::setenv("LONGSHIP_SQUASHFS", way, 1);
      if (name_of(enter(spec)) != way) throw Error("another way was taken");
      execute({"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}});
    });
  }

  void expect_everything_is_there(const char* way) {
    const auto said =
        run(way,
            "cat link; tail -c 3 big; echo; wc -c < big; ls many | wc -l; cat many/name-777; echo; "
            "ls -A empty; stat -c %h etc/again; touch /x; cat /missing; ls -d /missing");
    EXPECT_THAT(said.text, HasSubstr("packed\nend\n700003\n1000\n777\n2\n")) << way;
    EXPECT_THAT(said.text, HasSubstr("Read-only file system")) << way;
    EXPECT_THAT(said.text, HasSubstr("No such file")) << way;
  }

  // Other than this one.
  int processes_with_image() const {
    int count = 0;
    std::error_code ignored;
    for (const auto& process : fs::directory_iterator("/proc")) {
      if (process.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
      for (const auto& fd : fs::directory_iterator(process.path() / "fd", ignored))
        if (fs::read_symlink(fd.path(), ignored) == image) ++count;
    }
    return count;
  }

  TemporaryDirectory temporary_;
  const fs::path image = temporary_.path() / "image.sqfs";
  Spec spec;
};

TEST_F(SquashfsTest, TheKernelMountsItForRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  expect_everything_is_there("kernel");
  EXPECT_THAT(said_by({"losetup", "-a"}), testing::Not(HasSubstr("image.sqfs")));
}

TEST_F(SquashfsTest, FuseMountsItForWhomMayUseIt) {
  if (!why_no_fuse().empty()) GTEST_SKIP() << why_no_fuse();
  expect_everything_is_there("fuse");
}

TEST_F(SquashfsTest, UnpackedItServesEverybodyAndIsKept) {
  expect_everything_is_there("unpacked");
  const auto made = fs::last_write_time(spec.unpacked);
  expect_everything_is_there("unpacked");
  EXPECT_EQ(fs::last_write_time(spec.unpacked), made);
}

TEST_F(SquashfsTest, AnInterruptedUnpackingIsClearedUpByTheNext) {
  expect_everything_is_there("unpacked");
  for (const auto& entry : fs::directory_iterator(spec.unpacked))
    if (entry.is_directory()) fs::rename(entry.path(), entry.path().string() + ".partial");
  expect_everything_is_there("unpacked");
  for (const auto& entry : fs::directory_iterator(spec.unpacked))
    EXPECT_NE(entry.path().extension(), ".partial");
}

TEST_F(SquashfsTest, TheFuseServerEndsWithTheBoxAlsoWhenItIsKilled) {
  if (!why_no_fuse().empty()) GTEST_SKIP() << why_no_fuse();
  Pipe hold = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    hold.read.reset();
    ::setenv("LONGSHIP_SHARE", "no", 1);
    ::setenv("LONGSHIP_SQUASHFS", "fuse", 1);
    enter(spec);
    write_all(hold.write.get(), "x");
    ::pause();
  }
  hold.write.reset();
  char byte = 0;
  ASSERT_EQ(::read(hold.read.get(), &byte, 1), 1);
  EXPECT_EQ(processes_with_image(), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (int i = 0; i < 500 && processes_with_image() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(processes_with_image(), 0);
}

TEST_F(SquashfsTest, AFileThatIsNoneIsNamed) {
  spec.root = "/etc/passwd";
  EXPECT_EQ(message_of([&] { enter(spec); }),
            "cannot enter the box: /etc/passwd is neither a directory nor a SquashFS file");
  spec.root = "/no/such";
  EXPECT_EQ(message_of([&] { enter(spec); }),
            "cannot enter the box: cannot use /no/such: No such file or directory");
}

TEST_F(SquashfsTest, ADamagedFileIsNamed) {
  fs::resize_file(image, 1000);
  const auto said = run("unpacked", "true");
  EXPECT_THAT(said.text,
              HasSubstr("cannot read the image " + image.string() + ": it is damaged or cut short"));
  EXPECT_EQ(said.code, 1);
}

TEST_F(SquashfsTest, AnUnknownWayIsAWrongUse) {
  const auto said = run("magic", "true");
  EXPECT_EQ(said.text,
            "cannot enter the box: LONGSHIP_SQUASHFS is \"magic\": it can be kernel, fuse or unpacked\n");
  EXPECT_EQ(said.code, 2);
}

TEST_F(SquashfsTest, WithoutAnyWayTheRemedyIsTold) {
  spec.unpacked.clear();
  const auto said = in_child([&] {
    become_ordinary();
    enter(spec);
  });
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(
      said.text,
      HasSubstr("nothing here may mount a SquashFS file (/dev/fuse cannot be opened: Permission denied)"));
  EXPECT_THAT(said.text, HasSubstr("chmod 666 /dev/fuse"));
}

}  // namespace
}  // namespace longship::box
