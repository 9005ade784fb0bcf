// SPDX-License-Identifier: Apache-2.0
// Images that want out of the box, or at what is outside: through links, through /proc, through descriptors,
// through whoever serves their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "box/box.h"
#include "box/fuse_device.h"
#include "forked.h"
#include "spoiled_squashfs.h"

namespace longship::box {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;
using Spoiled = SpoiledSquashfs;

const Environment path = {{"PATH", "/usr/bin:/bin"}};

// The places of the host's programs in an image that has none of its own.
void add_program_places(const fs::path& root) {
  fs::create_directories(root / "usr");
  for (const char* name : {"bin", "sbin", "lib", "lib64"})
    fs::create_symlink(std::string("usr/") + name, root / name);
}

Spec spec_for(const fs::path& root) {
  Spec spec;
  spec.root = root;
  spec.home = false;
  spec.private_tmp = true;
  spec.working_directory = "/";
  spec.binds.push_back({.from = "/usr", .to = "/usr", .read_only = true});
  return spec;
}

std::vector<std::string> names_in(const fs::path& root) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root)) names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

class BoxAttackTest : public testing::TestWithParam<const char*> {
 protected:
  BoxAttackTest() {
    fs::permissions(temporary_.path(), fs::perms(0755));
    add_program_places(root);
    write(temporary_.path() / "secret", "the host's\n");
  }

  Said run(const std::vector<std::string>& command) {
    const Spec spec = with_binds_;
    return in_child([&] {
      ::setenv("LONGSHIP_ROOT", GetParam(), 1);
      become_ordinary();
      enter(spec);
      execute(command, path);
    });
  }
  Said run(const std::string& script) { return run(std::vector<std::string>{"/bin/sh", "-c", script}); }

  TemporaryDirectory temporary_;
  const fs::path root = temporary_.path() / "root";
  Spec with_binds_ = spec_for(root);
};

INSTANTIATE_TEST_SUITE_P(Layers, BoxAttackTest, testing::Values("overlay", "underlay"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(BoxAttackTest, LongshipsOwnProgramIsNotRunThroughProc) {
  fs::create_symlink("/proc/self/exe", root / "link");
  write(root / "script", "#!/proc/self/exe\n");
  write(root / "second", "#! /script -x\n");
  for (const char* name : {"script", "second"}) fs::permissions(root / name, fs::perms(0755));
  for (const char* program : {"/link", "/script", "/second", "/proc/self/exe", "/proc/thread-self/exe"}) {
    const auto said = run(std::vector<std::string>{program});
    EXPECT_EQ(said.code, 126) << program;
    EXPECT_EQ(said.text, std::string("longship: error: ") + program +
                             " leads to Longship's own program through /proc, which is refused\n");
  }
}

TEST_P(BoxAttackTest, AShellThatIsALinkToItIsNotRunEither) {
  fs::remove(root / "bin");
  fs::create_directories(root / "bin");
  fs::create_symlink("/proc/self/exe", root / "bin/sh");
  write(root / "script", "no first line\n");
  fs::permissions(root / "script", fs::perms(0755));
  EXPECT_THAT(run(std::vector<std::string>{"/script"}).text,
              HasSubstr("/bin/sh leads to Longship's own program"));
}

TEST_P(BoxAttackTest, NoDescriptorOfTheHostIsLeftOpen) {
  const auto said = run("for fd in /proc/$$/fd/*; do readlink $fd; done");
  // The pipe to this test, and what it was started with; never a directory.
  EXPECT_THAT(said.text, Not(HasSubstr(temporary_.path().string())));
  for (const char* place : {"/host", "/layers", "/image", "longship-boxes", "ns/mnt", "fuse"})
    EXPECT_THAT(said.text, Not(HasSubstr(place)));
  EXPECT_THAT(run("for fd in /proc/$$/fd/*; do test -d $fd/ && readlink $fd; done; true").text, "");
}

// Whatever an image has in place of the directories of the host: they are found in it, or it is refused, and
// the image is as it was.
TEST_P(BoxAttackTest, LinksInPlaceOfTheHostsDirectoriesStayInTheImage) {
  const std::vector<std::pair<std::string, std::string>> links = {
      {"proc", "/etc"},
      {"proc", "../../../../../../.."},
      {"dev", "/proc/self/root/dev"},
      {"dev", "proc/self/fd"},
      {"sys", "/proc/self/cwd"},
      {"etc", "/proc/self/root/etc"},
      {"etc", "/proc/1/root"},
      {"tmp", "/proc/self/root" + (temporary_.path() / "outside").string()},
      {"opt", (temporary_.path() / "outside").string()},
      {"etc", "\x1b[31metc"},
      {"proc", "proc"}};
  fs::create_directories(temporary_.path() / "outside");
  fs::permissions(temporary_.path() / "outside", fs::perms(0777));
  with_binds_.binds.push_back({.from = temporary_.path() / "secret", .to = "/opt/deep/place"});
  for (const auto& [name, target] : links) {
    fs::create_symlink(target, root / name);
    const auto before = names_in(temporary_.path());
    const auto said =
        run("test -e /proc/self/status && cat /opt/deep/place; echo x > /etc/new; echo x > /opt/new");
    EXPECT_EQ(names_in(temporary_.path()), before) << name << " -> " << target << ": " << said.text;
    EXPECT_TRUE(said.text.starts_with("the host's\n") || said.text.starts_with("cannot enter the box: ") ||
                said.text.find("cannot run /bin/sh") != std::string::npos)
        << name << " -> " << target << ": " << said.text;
    EXPECT_THAT(said.text, Not(HasSubstr("\x1b")));
    fs::remove(root / name);
  }
}

TEST_P(BoxAttackTest, AFileInPlaceOfADirectoryIsAnErrorOrCovered) {
  for (const char* name : {"proc", "dev", "etc", "tmp"}) {
    write(root / name, "a file");
    const auto said = run("echo in");
    EXPECT_TRUE(said.text == "in\n" || said.text.starts_with("cannot enter the box: ")) << name << said.text;
    EXPECT_EQ(read(root / name), "a file");
    fs::remove(root / name);
  }
}

TEST_P(BoxAttackTest, ABindGoesNowhereThroughLinksOfProc) {
  fs::create_symlink("/proc/self/root/tmp", root / "magic");
  fs::create_symlink("/proc/self/fd/3", root / "descriptor");
  for (const char* place : {"/magic/x", "/descriptor/x", "/magic", "/descriptor"}) {
    with_binds_ = spec_for(root);
    with_binds_.binds.push_back({.from = temporary_.path() / "secret", .to = place});
    const auto before = names_in(temporary_.path());
    const auto said = run("echo in");
    EXPECT_TRUE(said.text == "in\n" || said.text.starts_with("cannot enter the box: ")) << place << said.text;
    EXPECT_EQ(names_in(temporary_.path()), before);
  }
}

// Those in a joined box have its user namespace in common, and who has all rights in it, as a pretended root
// or the real one, may look into the others.
class JoinAttackTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Users, JoinAttackTest, testing::Values(false, true),
                         [](const auto& about) { return about.param ? "root" : "pretended_root"; });

TEST_P(JoinAttackTest, WhoIsInABoxDoesNotSeeIntoItsKeeper) {
  if (GetParam() && ::geteuid() != 0) GTEST_SKIP() << "needs root";
  const TemporaryDirectory temporary("longship-join", "/var/tmp");
  const fs::path root = temporary.path() / "root";
  add_program_places(root);
  if (!GetParam() && ::geteuid() == 0) {
    for (const auto& place : {temporary.path(), root})
      ASSERT_EQ(::chown(place.c_str(), ordinary_id, ordinary_id), 0);
  }
  const auto said = in_child([&] {
    ::setenv("XDG_RUNTIME_DIR", temporary.path().c_str(), 1);
    if (!GetParam()) become_ordinary();
    Spec spec = spec_for(root);
    spec.join = "ring";
    spec.fake_root = !GetParam();
    enter(spec);
    execute({"/bin/sh", "-c",
             "for p in /proc/[0-9]*; do test \"$(cat $p/comm 2>/dev/null)\" = longship-box || continue;"
             "  for fd in $p/fd/*; do test -e $fd && echo open; done; readlink $p/exe && echo named;"
             "  ls $p/root/ 2>/dev/null; echo hidden; done"},
            path);
  });
  EXPECT_THAT(said.text, HasSubstr("hidden\n"));
  EXPECT_THAT(said.text, AllOf(Not(HasSubstr("open")), Not(HasSubstr("named")), Not(HasSubstr("bin"))));
}

class SquashfsBoxAttackTest : public testing::TestWithParam<const char*> {
 protected:
  SquashfsBoxAttackTest() {
    fs::permissions(temporary_.path(), fs::perms(0755));
    fs::create_directories(tree / "DIR1/DIR2");
    write(tree / "DIR1/FILE", std::string(30'000, 'x'));
    write(tree / "good", "good\n");
    add_program_places(tree);
  }
  Spoiled image() { return {tree, temporary_.path() / "image.sqfs"}; }

  Said run(const Spoiled& spoiled, const std::string& script) {
    Spec spec = spec_for(spoiled.write());
    spec.unpacked = temporary_.path() / "unpacked";
    return in_child([&] {
      ::setenv("LONGSHIP_SHARE", "no", 1);
      ::setenv("LONGSHIP_SQUASHFS", GetParam(), 1);
      enter(spec);
      execute({"/bin/sh", "-c", script}, path);
    });
  }
  // The box may be refused; if not, what is damaged is an error and the rest is there.
  void expect_contained(const Spoiled& spoiled, const std::string& script) {
    if (std::string_view(GetParam()) == "kernel" && ::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (std::string_view(GetParam()) == "fuse" && !why_no_fuse().empty()) GTEST_SKIP() << why_no_fuse();
    const auto said = run(spoiled, "{ " + script + "; } >/dev/null 2>&1; cat /good");
    EXPECT_TRUE(said.text == "good\n" || said.text.find("cannot enter the box: ") != std::string::npos)
        << said.text;
  }

  TemporaryDirectory temporary_;
  const fs::path tree = temporary_.path() / "tree";
};

INSTANTIATE_TEST_SUITE_P(Ways, SquashfsBoxAttackTest, testing::Values("kernel", "fuse", "unpacked"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(SquashfsBoxAttackTest, ADirectoryThatLiesInItselfEnds) {
  expect_contained(image().lead("DIR2", "DIR1"), "ls -R /DIR1");
  expect_contained(image().lead_to_root("DIR2"), "ls -R /DIR1");
}

TEST_P(SquashfsBoxAttackTest, ANameThatLeadsElsewhereIsNotFollowed) {
  expect_contained(image().rename("DIR2", "../x"), "ls -lR /DIR1; cat /DIR1/../x");
}

TEST_P(SquashfsBoxAttackTest, ANameLongerThanAnyRoomForItIsRefused) {
  auto spoiled = image();
  spoiled.put<std::uint16_t>(spoiled.name("DIR2") - 2, 60'000);
  expect_contained(spoiled, "ls -lR /DIR1; cat /DIR1/none");
}

TEST_P(SquashfsBoxAttackTest, SizesAndPlacesThatAreLiesAreErrors) {
  auto file = image();
  file.put<std::uint32_t>(file.inode("FILE") + Spoiled::file_size, 0xffff'fff0);
  expect_contained(file, "cat /DIR1/FILE; tail -c 5000 /DIR1/FILE");
  auto directory = image();
  directory.put<std::uint16_t>(directory.inode("DIR1") + Spoiled::directory_offset, 8100);
  expect_contained(directory, "ls -lR /DIR1; cat /DIR1/FILE");
  auto inode = image();
  inode.put<std::uint16_t>(inode.name("FILE") - 8, 8190);
  expect_contained(inode, "ls -l /DIR1; cat /DIR1/FILE");
}

TEST_P(SquashfsBoxAttackTest, ADamagedSuperblockIsRefused) {
  for (const auto field :
       {Spoiled::inode_table, Spoiled::directory_table, Spoiled::fragment_table, Spoiled::id_table})
    expect_contained(image().put(field, std::uint64_t{1} << 50), "ls -R /DIR1");
  expect_contained(image().put<std::uint32_t>(Spoiled::block_size, 1u << 31), "cat /DIR1/FILE");
}

}  // namespace
}  // namespace longship::box
