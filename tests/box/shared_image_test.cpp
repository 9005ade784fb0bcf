// SPDX-License-Identifier: Apache-2.0
// One mount for all boxes of a node: who shares it, who must not, and that nothing stays. By the kernel and
// through FUSE, as far as this user may; tests/system/test_box.py does it as an ordinary user.
#include "box/shared_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/process.h"
#include "base/say.h"
#include "box/fuse_device.h"
#include "box/quick.h"
#include "forked.h"

namespace longship::box {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class SharedImageTest : public testing::TestWithParam<const char*> {
 protected:
  SharedImageTest() {
    fs::permissions(temporary_.path(), fs::perms(0700));
    fs::create_directory(meeting_above_);
    fs::permissions(meeting_above_, fs::perms(0700));
    pack("first", image_);
  }
  void SetUp() override {
    if (std::string(GetParam()) == "kernel" && ::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (std::string(GetParam()) == "fuse" && !why_no_fuse().empty()) GTEST_SKIP() << why_no_fuse();
  }
  void TearDown() override {
    while (!boxes_.empty()) end(*boxes_.begin());
    EXPECT_TRUE(eventually([&] { return !fs::exists(meeting_); })) << "the meeting place stays";
    EXPECT_TRUE(eventually([&] { return keepers().empty(); })) << "a keeper stays";
  }

  void pack(const std::string& marker, const fs::path& file) {
    const fs::path tree = temporary_.path() / ("tree-" + marker);
    write(tree / "marker", marker + "\n");
    fs::create_directories(tree / "usr");
    for (const char* name : {"bin", "lib", "lib64"})
      fs::create_symlink(std::string("usr/") + name, tree / name);
    pack_tree(tree, file);
  }
  static void pack_tree(const fs::path& tree, const fs::path& file) {
    Command command;
    command.arguments = {"mksquashfs", tree, file, "-quiet", "-no-progress", "-all-root", "-noappend"};
    (void)output_of(command);
  }

  // In a child: what its boxes go by.
  Spec prepare() const {
    ::setenv("XDG_RUNTIME_DIR", meeting_above_.c_str(), 1);
    ::setenv("LONGSHIP_SQUASHFS", GetParam(), 1);
    ::setenv("LONGSHIP_LINGER", linger_, 1);
    set_verbosity(Verbosity::verbose);
    Spec spec;
    spec.root = image_;
    spec.home = false;
    spec.working_directory = "/";
    spec.binds.push_back({.from = "/usr", .to = "/usr", .read_only = true});
    return spec;
  }
  static void execute_script(const std::string& script) {
    execute({"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}});
  }
  void become(const std::string& script) const {
    enter(prepare());
    execute_script(script);
  }
  Said run(const std::string& script) const {
    return in_child([&] { become(script); });
  }

  // Leaves a box running, and waits until it is inside.
  pid_t start(const std::string& script = "exec sleep 600") {
    const fs::path inside = meeting_above_ / ("inside-" + std::to_string(boxes_.size()));
    const pid_t child = ::fork();
    if (child == 0) {
      keep_only({});
      try {
        become(": > " + inside.string() + "; " + script);
      } catch (const std::exception&) {
      }
      ::_exit(99);
    }
    boxes_.insert(child);
    EXPECT_TRUE(eventually([&] { return fs::exists(inside); }));
    return child;
  }
  void end(pid_t box, int number = SIGKILL) {
    ::kill(box, number);
    ::waitpid(box, nullptr, 0);
    boxes_.erase(box);
  }

  static bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // Processes that have an image of this test open.
  std::vector<pid_t> keepers() const {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& process : fs::directory_iterator("/proc")) {
      const std::string number = process.path().filename();
      if (number.find_first_not_of("0123456789") != std::string::npos) continue;
      for (const auto& fd : fs::directory_iterator(process.path() / "fd", ignored))
        if (fs::read_symlink(fd.path(), ignored).string().starts_with(image_.string())) {
          found.push_back(std::atoi(number.c_str()));
          break;
        }
    }
    return found;
  }
  static int descriptors_of(pid_t process, const std::string& beginning) {
    int found = 0;
    std::error_code ignored;
    for (const auto& fd : fs::directory_iterator(fmt::format("/proc/{}/fd", process), ignored))
      found += fs::read_symlink(fd.path(), ignored).string().starts_with(beginning);
    return found;
  }
  // And waits until they are gone: a signal only begins it, and who comes too early finds them alive.
  void kill_keepers() const {
    for (const pid_t keeper : keepers()) ::kill(keeper, SIGKILL);
    EXPECT_TRUE(eventually([&] { return keepers().empty(); }));
  }
  // By another process, which does that first, and then works with those that come.
  pid_t listen_instead_of_the_keeper(const std::function<void()>& first,
                                     const std::function<void(int listening)>& work) const {
    const auto kept = sockets();
    EXPECT_EQ(kept.size(), 1u);
    const fs::path name = kept.at(0);
    kill_keepers();
    fs::remove(name);
    Pipe ready = make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
      const int listening = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
      sockaddr_un at{};
      at.sun_family = AF_UNIX;
      name.string().copy(at.sun_path, sizeof at.sun_path - 1);
      if (::bind(listening, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) ::_exit(1);
      first();
      if (::listen(listening, 10) != 0) ::_exit(1);
      write_all(ready.write.get(), "x");
      work(listening);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready.read.get(), &byte, 1), 1);
    return child;
  }
  std::vector<fs::path> sockets() const {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(meeting_, ignored))
      if (entry.is_socket()) found.push_back(entry.path());
    return found;
  }

  TemporaryDirectory temporary_{"longship-share", "/tmp"};  // which the boxes see
  const fs::path image_ = temporary_.path() / "image.sqfs";
  const fs::path meeting_above_ = temporary_.path() / "run";
  const fs::path meeting_ = meeting_above_ / "longship-boxes";
  const char* linger_ = "0";
  std::set<pid_t> boxes_;
};

TEST_P(SharedImageTest, TheNextBoxSharesTheMountOfTheFirst) {
  start();
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  const auto said = run("cat marker");
  EXPECT_THAT(said.text, HasSubstr(std::string(GetParam()) + ", one mount for all boxes on this machine, " +
                                   "kept by process " + std::to_string(keeper[0])));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
  EXPECT_EQ(keepers(), keeper);
}

TEST_P(SharedImageTest, ItLingersForTheNextOne) {
  linger_ = "600";
  EXPECT_THAT(run("true").text, HasSubstr("now kept by process"));
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  EXPECT_THAT(run("true").text, HasSubstr(", kept by process " + std::to_string(keeper[0])));
  kill_keepers();
  linger_ = "0";
  EXPECT_EQ(run("true").code, 0);  // clears up after it
}

TEST_P(SharedImageTest, FiftyAtOnceMakeOneMount) {
  linger_ = "600";
  // Each from a process of its own: entering needs one thread.
  std::vector<pid_t> children;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto heard = run("cat marker");
      ::_exit(heard.code == 0 && heard.text.ends_with("\nfirst\n") ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  EXPECT_EQ(sockets().size(), 1u);
  kill_keepers();
  linger_ = "0";
  EXPECT_EQ(run("true").code, 0);
}

TEST_P(SharedImageTest, ManyReadersAtOnceReadTheSame) {
  const fs::path data = temporary_.path() / "tree-first" / "data";
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919L) + "\n";
  for (int i = 0; i < 3; ++i)
    write(data / ("large-" + std::to_string(i)), text.substr(static_cast<std::size_t>(i)));
  for (int i = 0; i < 300; ++i)
    write(data / std::to_string(i), text.substr(0, static_cast<std::size_t>(i) * 50));
  pack_tree(data.parent_path(), image_);
  Command command;
  command.arguments = {"sh", "-c", "cat " + data.string() + "/* | cksum"};
  const std::string expected = output_of(command);
  const auto said = run("for i in 1 2 3 4 5 6 7 8; do cat /data/* | cksum & done; wait");
  std::size_t count = 0;
  for (auto at = said.text.find(expected); at != std::string::npos; at = said.text.find(expected, at + 1))
    ++count;
  EXPECT_EQ(count, 8u) << said.text;
}

TEST_P(SharedImageTest, AReplacedFileIsAnotherImage) {
  start();
  pack("second", temporary_.path() / "new.sqfs");
  fs::rename(temporary_.path() / "new.sqfs", image_);
  EXPECT_THAT(run("cat marker").text, HasSubstr("\nsecond\n"));
}

TEST_P(SharedImageTest, AFileThatWasWrittenToIsAnotherImageThoughItsTimeWasPutBack) {
  linger_ = "600";
  EXPECT_THAT(run("cat marker").text, HasSubstr("\nfirst\n"));
  const auto keeper = keepers();
  const auto before = fs::last_write_time(image_);
  pack("other", temporary_.path() / "new.sqfs");
  const std::string bytes = read(temporary_.path() / "new.sqfs");
  std::fstream(image_, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  fs::last_write_time(image_, before);
  linger_ = "0";
  EXPECT_THAT(run("cat marker").text, HasSubstr("\nother\n"));
  kill_keepers();
  EXPECT_EQ(run("true").code, 0);
}

TEST_P(SharedImageTest, AKilledBoxTakesNothingFromTheOthers) {
  const pid_t first = start();
  const pid_t second = start(
      "read line < /proc/self/fd/0; while ! test -e /tmp/longship-never; do cat /marker > /dev/null "
      "|| exit 7; sleep 0.05; done");
  end(first);
  EXPECT_THAT(run("cat marker").text, HasSubstr("\nfirst\n"));
  EXPECT_EQ(::waitpid(second, nullptr, WNOHANG), 0) << "its files are gone";
}

TEST_P(SharedImageTest, WhatStaysInABoxKeepsItsFiles) {
  // The first process ends, so that nobody else may come; what it leaves still has all it needs.
  const fs::path go = meeting_above_ / "go", answer = meeting_above_ / "answer";
  const auto said = run("(while ! test -e " + go.string() + "; do sleep 0.05; done; cat /marker > " +
                        answer.string() + ") > /dev/null 2>&1 &");
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_TRUE(eventually([&] { return !fs::exists(meeting_); }));
  write(go, "");
  EXPECT_TRUE(eventually([&] { return read(answer) == "first\n"; }));
}

TEST_P(SharedImageTest, AfterAKilledKeeperTheNextBoxStartsAnother) {
  start();
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  kill_keepers();
  EXPECT_EQ(sockets().size(), 1u);  // it could not clear up
  const auto said = run("cat marker");
  EXPECT_THAT(said.text, HasSubstr("now kept by process"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
}

// Whoever cleans up after ranks does so from inside their box, from where little is seen of the keeper.
TEST_P(SharedImageTest, TheKeeperIsKnownFromInsideTheBox) {
  const auto said = in_child([&] {
    ::setenv("XDG_RUNTIME_DIR", meeting_above_.c_str(), 1);
    ::setenv("LONGSHIP_SQUASHFS", GetParam(), 1);
    ::setenv("LONGSHIP_LINGER", "0", 1);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    Spec spec;
    spec.root = image_;
    spec.working_directory = "/";
    enter(spec);
    const auto children = read(fmt::format("/proc/self/task/{}/children", ::getpid()));
    const pid_t bystander = ::fork();
    if (bystander == 0) ::pause();
    const std::string known = is_keeper(std::atoi(children.c_str())) ? "known" : "unknown";
    write_all(STDOUT_FILENO, known + (is_keeper(bystander) ? ", and others too" : ""));
    ::kill(bystander, SIGKILL);
  });
  EXPECT_EQ(said.text, "known");
}

TEST_P(SharedImageTest, AKeeperThatIsAnotherUsersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  start();
  const pid_t impostor = listen_instead_of_the_keeper(become_ordinary, [](int) { ::pause(); });
  const auto said = run("cat marker");
  EXPECT_THAT(said.text, HasSubstr("is mounted for this box alone"));
  EXPECT_THAT(said.text, HasSubstr("is kept by another user"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
  ::kill(impostor, SIGKILL);
  ::waitpid(impostor, nullptr, 0);
  EXPECT_EQ(run("true").code, 0);
}

// So that whoever waits for the box does not wait until its mounts are gone.
TEST_P(SharedImageTest, TheKeeperHasTheMountsOfAQuickBoxAsLongAsThatRuns) {
  start();
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  const fs::path inside = meeting_above_ / "inside-quickly";
  const pid_t child = ::fork();
  if (child == 0) {
    keep_only({});
    if (enter_quickly(prepare(), "/nonexistent/keeper"))
      execute_script(": > " + inside.string() + "; exec sleep 600");
    ::_exit(99);
  }
  boxes_.insert(child);
  ASSERT_TRUE(eventually([&] { return fs::exists(inside); }));
  const auto space = fs::read_symlink(fmt::format("/proc/{}/ns/mnt", child)).string();
  EXPECT_TRUE(eventually([&] { return descriptors_of(keeper[0], space) == 1; }));
  EXPECT_TRUE(eventually([&] { return descriptors_of(keeper[0], "socket:") == 1; }))
      << "only where it listens";
  end(child);
  EXPECT_TRUE(eventually([&] { return descriptors_of(keeper[0], "mnt:") == 0; }));
  EXPECT_THAT(run("cat marker").text, HasSubstr("\nfirst\n"));
}

// It may be about to leave. Whoever asked it is in namespaces of its own by then.
TEST_P(SharedImageTest, WhomAKeeperHangsUpOnTakesTheLongWay) {
  start();
  const pid_t leaving = listen_instead_of_the_keeper([] {},
                                                     [](int listening) {
                                                       for (;;)
                                                         ::close(::accept(listening, nullptr, nullptr));
                                                     });
  const auto said = in_child([&] {
    const Spec spec = prepare();
    const bool quickly = enter_quickly(spec, "/nonexistent/keeper").has_value();
    write_all(STDOUT_FILENO, quickly ? "quickly\n" : "by the long way\n");
    if (!quickly) enter(spec);
    execute_script("cat marker");
  });
  EXPECT_THAT(said.text, HasSubstr("by the long way\n"));
  EXPECT_THAT(said.text, HasSubstr("is mounted for this box alone"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
  ::kill(leaving, SIGKILL);
  ::waitpid(leaving, nullptr, 0);
  EXPECT_EQ(run("true").code, 0);
}

TEST_P(SharedImageTest, AKeeperThatDoesNotMoveHoldsNobodyUp) {
  if (std::string(GetParam()) == "fuse" && ::geteuid() == 0)
    GTEST_SKIP() << "once is enough: it waits seconds";
  linger_ = "600";
  EXPECT_EQ(run("true").code, 0);
  const auto keeper = keepers();
  ASSERT_EQ(keeper.size(), 1u);
  ::kill(keeper[0], SIGSTOP);
  const auto said = run("cat marker");
  EXPECT_THAT(said.text, HasSubstr("is mounted for this box alone: the process that keeps the mount does not "
                                   "answer"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
  kill_keepers();
  linger_ = "0";
  EXPECT_EQ(run("true").code, 0);
}

TEST_P(SharedImageTest, ADirectoryThatOthersMayEnterIsNotUsed) {
  fs::create_directory(meeting_);
  fs::permissions(meeting_, fs::perms(0755));
  const auto said = run("cat marker");
  EXPECT_THAT(said.text, HasSubstr("is mounted for this box alone: longship-boxes"));
  EXPECT_THAT(said.text, HasSubstr("is somebody else's"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
  fs::remove(meeting_);
}

TEST_P(SharedImageTest, ItCanBeForbidden) {
  ::setenv("LONGSHIP_SHARE", "no", 1);
  const auto said = run("cat marker");
  ::unsetenv("LONGSHIP_SHARE");
  EXPECT_THAT(said.text, HasSubstr("is mounted for this box alone: LONGSHIP_SHARE says no"));
  EXPECT_THAT(said.text, HasSubstr("\nfirst\n"));
}

TEST_P(SharedImageTest, AWrongLingerIsAWrongUse) {
  linger_ = "long";
  const auto said = run("true");
  EXPECT_EQ(said.code, 2);
  EXPECT_THAT(said.text, HasSubstr("LONGSHIP_LINGER is \"long\": it is a number of seconds, at most 86400"));
}

TEST(Fate, TasksOfAStepEndTogetherAndNobodyElse) {
  using detail::fate_of;
  const char* task = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n";
  EXPECT_EQ(fate_of(task), fate_of("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_1\n"));
  EXPECT_NE(fate_of(task), fate_of("0::/system.slice/slurmstepd.scope/job_7/step_1/user/task_0\n"));
  EXPECT_NE(fate_of(task), fate_of("0::/system.slice/slurmstepd.scope/job_8/step_0/user/task_0\n"));
  EXPECT_EQ(fate_of("5:freezer:/slurm/uid_9/job_7/step_0/task_0\n1:name=systemd:/x\n"),
            fate_of("5:freezer:/slurm/uid_9/job_7/step_0/task_3\n1:name=systemd:/x\n"));
  EXPECT_NE(fate_of("0::/user.slice/session-1.scope\n"), fate_of("0::/user.slice/session-2.scope\n"));
}

INSTANTIATE_TEST_SUITE_P(Ways, SharedImageTest, testing::Values("kernel", "fuse"),
                         [](const auto& way) { return std::string(way.param); });

}  // namespace
}  // namespace longship::box
