// SPDX-License-Identifier: Apache-2.0
#include "box/namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "box/box.h"
#include "box/layers.h"
#include "box/mounts.h"
#include "forked.h"

namespace longship::box {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Obstacle {
  const char* file;
  const char* value;
  int number;
  const char* remedy;
};

class RemedyTest : public testing::TestWithParam<Obstacle> {};

TEST_P(RemedyTest, NamesWhatToAskFor) {
  const TemporaryDirectory proc;
  if (*GetParam().file != '\0') write(proc.path() / GetParam().file, GetParam().value);
  EXPECT_THAT(remedy_for(GetParam().number, proc.path()), HasSubstr(GetParam().remedy));
}

INSTANTIATE_TEST_SUITE_P(
    Obstacles, RemedyTest,
    testing::Values(
        Obstacle{"sys/user/max_user_namespaces", "0\n", ENOSPC, "sysctl -w user.max_user_namespaces=15000"},
        Obstacle{"sys/kernel/unprivileged_userns_clone", "0\n", EPERM, "kernel.unprivileged_userns_clone=1"},
        Obstacle{"sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", EPERM, "AppArmor"},
        Obstacle{"self/status", "Name:\tx\nSeccomp:\t2\n", EPERM, "seccomp=unconfined"},
        Obstacle{"", "", ENOSPC, "too many namespaces"}, Obstacle{"", "", EUSERS, "nested too deeply"},
        Obstacle{"", "", EINVAL, "several threads"},
        Obstacle{"", "", EPERM, "allow unprivileged user namespaces"}));

Spec host() {
  Spec spec;
  spec.root = "/";
  return spec;
}

// As a container engine's default filter does it.
void forbid(std::initializer_list<int> calls) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  for (const int call : calls) seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
  if (seccomp_load(filter) != 0) throw Error("no seccomp here");
  seccomp_release(filter);
}

TEST(NamespacesTest, WithoutThemItIsImpossibleAndTheRemedyIsTold) {
  const auto said = in_child([] {
    become_ordinary();
    forbid({SCMP_SYS(unshare)});
    enter(host());
  });
  EXPECT_EQ(said.code, static_cast<int>(Failure::impossible));
  EXPECT_THAT(said.text,
              HasSubstr("this machine does not let users make user namespaces (unshare: Operation not "
                        "permitted): a seccomp filter forbids it"));
}

TEST(NamespacesTest, RootDoesWithoutAUserNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto said = in_child([] {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const scmp_arg_cmp user = {0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER};
    seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1, &user);
    if (seccomp_load(filter) != 0) throw Error("no seccomp here");
    enter(host());
    execute({"/bin/echo", "inside"}, {});
  });
  EXPECT_EQ(said.text, "inside\n");
  EXPECT_EQ(said.code, 0);
}

TEST(NamespacesTest, RootKeepsAllIdsAndLosesItsPower) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto said = in_child([] {
    enter(host());
    execute(
        {"/bin/sh", "-c", "cat /proc/self/uid_map; mount -t proc proc /proc 2>&1 | grep -c -i permission"},
        {{"PATH", "/bin:/usr/bin"}});
  });
  EXPECT_EQ(said.text, read("/proc/self/uid_map") + "1\n");
}

TEST(MountsTest, ReadOnlyKeepsLockedFlagsOnOldKernelsToo) {
  const TemporaryDirectory temporary;
  const auto said = in_child([&] {
    const Power power = enter_mount_namespace(false);
    (void)power;
    const std::string at = temporary.path();
    if (::mount("tmpfs", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      throw Error("tmpfs");
    detail::make_read_only_by_remount(at);
    struct statvfs now = {};
    ::statvfs(at.c_str(), &now);
    const unsigned long wanted = ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC;
    if ((now.f_flag & wanted) != wanted) throw Error("flags are {:x}", now.f_flag);
  });
  EXPECT_EQ(said.text, "");
}

TEST(MountsTest, AFailedMountIsASentence) {
  const auto said = in_child([] {
    const Power power = enter_mount_namespace(false);
    (void)power;
    mount_tmpfs("/nowhere/at/all", "");
  });
  EXPECT_EQ(said.text, "cannot mount a tmpfs at /nowhere/at/all: No such file or directory\n");
}

TEST(LayersTest, NetworkFileSystemsCannotBeWrittenThrough) {
  EXPECT_EQ(unfit_for_upper(0x6969), "NFS");
  EXPECT_EQ(unfit_for_upper(0x0bd00bd0), "Lustre");
  EXPECT_EQ(unfit_for_upper(static_cast<long>(0xfffffffffe534d42UL)),
            "SMB");  // 32-bit magics arrive sign-extended
  EXPECT_EQ(unfit_for_upper(0xef53), "");
}

}  // namespace
}  // namespace longship::box
