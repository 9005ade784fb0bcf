// SPDX-License-Identifier: Apache-2.0
#include "box/identity.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "forked.h"

namespace longship::box {
namespace {

const Caller ada = {.user = 1815,
                    .group = 12,
                    .name = "ada",
                    .group_name = "engines",
                    .home = "/home/ada",
                    .working_directory = "/"};

TEST(IdentityTest, AnUnknownUserIsAddedToTheImagesTable) {
  EXPECT_EQ(passwd_with("root:x:0:0::/root:/bin/sh", ada),
            "root:x:0:0::/root:/bin/sh\nada:x:1815:12:ada:/home/ada:/bin/sh\n");
  EXPECT_EQ(group_with("root:x:0:\n", ada), "root:x:0:\nengines:x:12:\n");
  EXPECT_EQ(passwd_with("", ada), "ada:x:1815:12:ada:/home/ada:/bin/sh\n");
}

TEST(IdentityTest, AKnownUserIsLeftAlone) {
  EXPECT_FALSE(passwd_with("x:x:1815:1::/:/bin/sh\n", ada));
  EXPECT_FALSE(group_with("x:x:12:\n", ada));
}

TEST(IdentityTest, OnlyTheIdCountsAndNotOtherFields) {
  EXPECT_TRUE(passwd_with("1815:x:7:1815:1815:/:/bin/sh\nbroken line\n", ada));
}

TEST(IdentityTest, AUserWithoutAnEntryIsNamedByTheEnvironment) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs an id without an entry";
  const auto said = in_child([] {
    become_ordinary();
    ::setenv("USER", "grace", 1);
    ::setenv("HOME", "/scratch/grace", 1);
    const Caller caller = find_caller();
    write_all(STDOUT_FILENO, caller.name + " " + caller.home + " " + std::to_string(caller.user));
  });
  EXPECT_EQ(said.text, "grace /scratch/grace 12345");
}

TEST(IdentityTest, ANameThatWouldBreakTheTableIsNotTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs an id without an entry";
  const auto said = in_child([] {
    become_ordinary();
    ::setenv("USER", "a:0:0", 1);
    ::unsetenv("LOGNAME");
    write_all(STDOUT_FILENO, find_caller().name);
  });
  EXPECT_EQ(said.text, "user");
}

}  // namespace
}  // namespace longship::box
