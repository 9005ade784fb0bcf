// SPDX-License-Identifier: Apache-2.0
#include "box/abilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <seccomp.h>

#include <cerrno>

#include "forked.h"

namespace longship::box {
namespace {

using testing::HasSubstr;

std::string told(const Ability& ability) {
  return ability.name + "|" + (ability.there ? "yes" : "no") + "|" + ability.detail + "|" + ability.remedy;
}

// In a child whose system calls fail as where they are forbidden.
std::string without(int call, int number, Ability (*look)()) {
  return in_child([&] {
           scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
           seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(number)), call, 0);
           if (seccomp_load(filter) != 0) throw Error("no seccomp here");
           write_all(STDOUT_FILENO, told(look()));
         })
      .text;
}

TEST(AbilitiesTest, BoxesCanRunWhereTheseTestsCan) {
  EXPECT_EQ(told(boxes()), "boxes|yes|a process was put into one|");
  EXPECT_EQ(told(user_namespaces()), "user namespaces|yes|allowed|");
  EXPECT_EQ(told(seccomp()), "seccomp filters|yes|allowed|");
}

TEST(AbilitiesTest, WithoutNamespacesTheRemedyIsTold) {
  EXPECT_THAT(without(SCMP_SYS(unshare), EPERM, user_namespaces),
              HasSubstr("user namespaces|no|unshare: Operation not permitted|a seccomp filter forbids it"));
  EXPECT_THAT(without(SCMP_SYS(unshare), ENOSPC, user_namespaces), HasSubstr("too many namespaces"));
  EXPECT_THAT(without(SCMP_SYS(unshare), EPERM, boxes), HasSubstr("boxes|no|cannot enter the box: "));
}

TEST(AbilitiesTest, AnOldKernelIsRecognised) {
  EXPECT_EQ(without(SCMP_SYS(openat2), ENOSYS, confined_open),
            "openat2|no|openat2: Function not implemented|");
  EXPECT_THAT(without(SCMP_SYS(mount), EPERM, overlay), HasSubstr("overlay in them|no|"));
  EXPECT_THAT(without(SCMP_SYS(mount), EPERM, overlay), HasSubstr("Linux 5.11"));
}

TEST(AbilitiesTest, ForbiddenFuseNamesTheDevice) {
  const auto said = in_child([] {
    become_ordinary();
    write_all(STDOUT_FILENO, told(fuse()));
  });
  EXPECT_THAT(said.text,
              testing::AnyOf("FUSE|yes|allowed|", HasSubstr("FUSE|no|/dev/fuse cannot be opened")));
}

TEST(AbilitiesTest, OnlyRootMountsByTheKernel) {
  const auto said = in_child([] {
    become_ordinary();
    write_all(STDOUT_FILENO, told(kernel_squashfs()));
  });
  EXPECT_EQ(said.text, "SquashFS by the kernel|no|only root may|");
}

TEST(AbilitiesTest, AllAreListedOnce) {
  EXPECT_EQ(abilities().size(), 7u);
}

}  // namespace
}  // namespace longship::box
