// SPDX-License-Identifier: Apache-2.0
#include "box/place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "box/small_file.h"
#include "expect.h"
#include "forked.h"

namespace longship::box {
namespace {

namespace fs = std::filesystem;

class PlaceTest : public testing::Test {
 protected:
  PlaceTest() {
    write(tree_ / "var/home/a/file", "inside");
    fs::create_symlink("/var/home", tree_ / "home");
    fs::create_symlink("../../../../../../etc", tree_ / "up");
    fs::create_symlink("../home/a", tree_ / "var/relative");
    fs::create_symlink("loop", tree_ / "loop");
    fs::create_symlink("/nowhere/else", tree_ / "dangling");
  }
  Place find(std::string_view path) { return find_place(directory_.get(), path); }

  TemporaryDirectory temporary_;
  fs::path tree_ = temporary_.path();
  Fd directory_ = open_file(tree_, O_RDONLY | O_DIRECTORY);
};

TEST_F(PlaceTest, LinksAreFollowedInsideTheTree) {
  EXPECT_EQ(find("/home/a").path, "var/home/a");
  EXPECT_TRUE(find("/home/a").exists);
  EXPECT_EQ(find("var/relative/file").path, "var/home/a/file");
  EXPECT_TRUE(S_ISREG(find("var/relative/file").mode));
}

TEST_F(PlaceTest, NothingLeadsAboveTheTree) {
  EXPECT_EQ(find("/../../var").path, "var");
  EXPECT_EQ(find("/up").path, "etc");
  EXPECT_FALSE(find("/up").exists);
}

TEST_F(PlaceTest, WhatIsMissingIsTakenAsWritten) {
  EXPECT_EQ(find("/home/b/c").path, "var/home/b/c");
  EXPECT_FALSE(find("/home/b/c").exists);
  EXPECT_EQ(find("/dangling/x").path, "nowhere/else/x");
  EXPECT_EQ(find("/missing/../var").path, "var");
  EXPECT_TRUE(find("/missing/../var").exists);
  EXPECT_FALSE(find("/var/home/a/file/below").exists);
}

TEST_F(PlaceTest, TheTreeItselfIsTheEmptyPath) {
  for (const auto* path : {"/", "", ".", "//./"}) {
    EXPECT_EQ(find(path).path, "");
    EXPECT_TRUE(find(path).exists);
  }
}

TEST_F(PlaceTest, AnEndlessLinkIsAnError) {
  EXPECT_EQ(message_of([&] { (void)find("/loop/x"); }),
            "cannot follow /loop in the image: Too many levels of symbolic links");
}

TEST_F(PlaceTest, SmallFilesOfATreeAreReadInIt) {
  EXPECT_EQ(read_small_file_in(directory_.get(), "home/a/file"), "inside");
  EXPECT_FALSE(read_small_file_in(directory_.get(), "up/passwd"));
  EXPECT_FALSE(read_small_file((tree_ / "missing").string()));
}

}  // namespace
}  // namespace longship::box
