// SPDX-License-Identifier: Apache-2.0
#include "fit/file_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace longship::fit {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class FileTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_.path() / "usr/lib/deep");
    fs::create_directories(directory_.path() / "etc");
    write_file(directory_.path() / "usr/lib/libx.so.1.2", "x");
    link("lib", "usr/lib");
    link("usr/lib/libx.so.1", "libx.so.1.2");
    link("etc/alternative", "/usr/lib/libx.so.1");
    link("usr/lib/up", "../../../../etc");
    link("loop", "loop");
    link("broken", "/nowhere/at/all");
  }
  void link(const char* name, const char* target) { fs::create_symlink(target, directory_.path() / name); }

  TemporaryDirectory directory_;
  FileTree tree_{directory_.path()};
};

TEST_F(FileTreeTest, LinksAreFollowedWithinTheRoot) {
  EXPECT_EQ(tree_.real("/lib/libx.so.1"), "/usr/lib/libx.so.1.2");
  EXPECT_EQ(tree_.real("/etc/alternative"), "/usr/lib/libx.so.1.2");
  EXPECT_EQ(tree_.real("/lib/up"), "/etc");  // there is nothing above the root
  EXPECT_EQ(tree_.real("/lib/deep/../libx.so.1.2"), "/usr/lib/libx.so.1.2");
  EXPECT_FALSE(tree_.real("/lib/../etc"));  // that is /usr/etc, as the kernel has it
}

TEST_F(FileTreeTest, WhatLeadsNowhereIsNothing) {
  EXPECT_FALSE(tree_.real("/loop"));
  EXPECT_FALSE(tree_.real("/loop/x"));
  EXPECT_FALSE(tree_.real("/broken"));
  EXPECT_FALSE(tree_.real("/usr/lib/libx.so.1.2/x"));
  EXPECT_FALSE(tree_.real("/nothing"));
  EXPECT_THAT(tree_.names_in("/nothing"), IsEmpty());
  EXPECT_EQ(tree_.text("/nothing"), "");
}

TEST_F(FileTreeTest, ADirectoryIsListedInOrder) {
  EXPECT_THAT(tree_.names_in("/lib"), ElementsAre("deep", "libx.so.1", "libx.so.1.2", "up"));
  EXPECT_TRUE(tree_.is_directory("/lib/up"));
  EXPECT_FALSE(tree_.is_directory("/lib/libx.so.1"));
  EXPECT_EQ(tree_.text("/etc/alternative"), "x");
}

TEST_F(FileTreeTest, AFileIsMapped) {
  EXPECT_EQ(MappedFile(tree_.outside("/usr/lib/libx.so.1.2")).bytes(), "x");
  EXPECT_EQ(MappedFile(tree_.outside("/usr/lib")).bytes(), "");
  EXPECT_EQ(MappedFile("/nowhere").bytes(), "");
}

}  // namespace
}  // namespace longship::fit
