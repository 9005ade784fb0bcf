// SPDX-License-Identifier: Apache-2.0
// Layers into a SquashFS file, which squashfs-tools' own unsquashfs then reads.
#include "image/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "image/merged.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::HasSubstr;

class MergeTest : public Merged {};

TEST_F(MergeTest, UpperFilesHideLowerOnes) {
  const auto image = merge(
      {TarBuilder().file("a", "below").file("b", "below").done(), TarBuilder().file("a", "above").done()});
  EXPECT_EQ(content(image, "a"), "above");
  EXPECT_EQ(content(image, "b"), "below");
}

TEST_F(MergeTest, AWhiteoutHidesWhatIsBelowAndNotItsOwnLayer) {
  const auto image = merge({TarBuilder().file("d/a", "1").file("d/b", "1").done(),
                            TarBuilder().file("d/.wh.a", "").file("d/.wh.b", "").file("d/b", "2").done()});
  EXPECT_FALSE(has(image, "d/a"));
  EXPECT_EQ(content(image, "d/b"), "2");
}

TEST_F(MergeTest, AnOpaqueDirectoryStartsEmpty) {
  const auto image = merge({TarBuilder().file("d/a", "1").done(),
                            TarBuilder().directory("d").file("d/.wh..wh..opq", "").file("d/b", "2").done()});
  EXPECT_FALSE(has(image, "d/a"));
  EXPECT_TRUE(has(image, "d/b"));
}

TEST_F(MergeTest, ADirectoryThatBecameAFileAndADirectoryAgainKeepsNothing) {
  const auto image = merge({TarBuilder().file("d/a", "1").done(), TarBuilder().file("d", "file").done(),
                            TarBuilder().file("d/b", "3").done()});
  EXPECT_FALSE(has(image, "d/a"));
  EXPECT_EQ(content(image, "d/b"), "3");
}

TEST_F(MergeTest, DirectoriesMergeAndTheUppersModeWins) {
  const auto image = merge({TarBuilder().directory("d", 0700).file("d/a", "1").done(),
                            TarBuilder().directory("d", 0711).file("d/b", "").done()});
  EXPECT_TRUE(has(image, "d/a"));
  EXPECT_THAT(list(image), testing::ContainsRegex("drwx--x--x 0/0 .*squashfs-root/d\n"));
}

TEST_F(MergeTest, AHardLinkToAHiddenFileKeepsItsContent) {
  const auto image = merge({TarBuilder().file("a", "kept").link("b", "a").link("c", "b").done(),
                            TarBuilder().file(".wh.a", "").file(".wh.b", "").done()});
  EXPECT_FALSE(has(image, "a"));
  EXPECT_EQ(content(image, "c"), "kept");
}

TEST_F(MergeTest, AHardLinkIntoALowerLayerIsFollowed) {
  EXPECT_EQ(content(merge({TarBuilder().file("a", "low").done(), TarBuilder().link("b", "a").done()}), "b"),
            "low");
}

TEST_F(MergeTest, AHardLinkToNothingIsNamed) {
  EXPECT_THAT(error_of({TarBuilder().link("b", "a").done()}),
              HasSubstr("b is a hard link to a, which is not in the image"));
}

TEST_F(MergeTest, NothingIsWrittenThroughASymbolicLinkOfItsOwnLayer) {
  EXPECT_THAT(error_of({TarBuilder().symlink("a", "/etc").file("a/passwd", "x").done()}),
              HasSubstr("not a directory"));
}

TEST_F(MergeTest, AnUnnamedParentThatIsALinkBelowIsFollowed) {
  const auto image =
      merge({TarBuilder().directory("usr/lib").file("usr/lib/old", "1").symlink("lib", "usr/lib").done(),
             TarBuilder().file("lib/new", "2").done()});
  EXPECT_EQ(content(image, "usr/lib/new"), "2");
  EXPECT_TRUE(has(image, "usr/lib/old"));
  EXPECT_TRUE(has(image, "lib"));
}

// As usr/bin/X11 → . of old systems.
TEST_F(MergeTest, AnUnnamedParentThatLeadsToItsOwnDirectoryIsFollowed) {
  const auto image = merge({TarBuilder().directory("bin").symlink("bin/X11", ".").done(),
                            TarBuilder().file("bin/X11/xterm", "x").done()});
  EXPECT_EQ(content(image, "bin/xterm"), "x");
  EXPECT_THAT(list(image), HasSubstr("bin/X11 -> ."));
}

TEST_F(MergeTest, ANameThatReplacesTheLinkItCameThroughIsWhatStays) {
  const auto image = merge({TarBuilder().directory("a").symlink("a/b", ".").done(),
                            TarBuilder().file("a/b/b", "file").file("a/b/c", "c").done()});
  EXPECT_EQ(content(image, "a/b"), "file");
  EXPECT_EQ(content(image, "a/c"), "c");
}

TEST_F(MergeTest, AnUnnamedParentThatLeadsIntoItselfStaysADirectory) {
  for (const char* link : {"a", "a/b", "/a/b/..", "./a"}) {
    const auto image =
        merge({TarBuilder().symlink("a", link).done(), TarBuilder().file("a/b/c", "c").done()});
    EXPECT_EQ(content(image, "a/b/c"), "c") << link;
  }
}

TEST_F(MergeTest, PrivilegesAndDevicesStayBehind) {
  const auto image = merge({TarBuilder().file("su", "", 04755).add({.name = "null", .type = '3'}).done()});
  EXPECT_THAT(list(image), HasSubstr("-rwxr-xr-x 0/0"));
  EXPECT_FALSE(has(image, "null"));
}

TEST_F(MergeTest, MountPointsAreAddedWhereNothingIs) {
  const auto image = merge({TarBuilder().symlink("run", "var/run").file("etc/hosts", "mine").done()});
  for (const char* name : {"proc", "dev", "tmp", "job", "opt/longship", "etc/resolv.conf"})
    EXPECT_TRUE(has(image, name)) << name;
  EXPECT_EQ(content(image, "etc/hosts"), "mine");
  EXPECT_THAT(list(image), HasSubstr("run -> var/run"));
}

TEST_F(MergeTest, TheSameLayersGiveTheSameBytes) {
  TarBuilder tar;
  for (int i = 0; i < 300; ++i)
    tar.file("f" + std::to_string(i),
             std::string(static_cast<std::size_t>(i) * 997, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(read_file(merge({tar.done()})), read_file(merge({tar.done()})));
}

TEST_F(MergeTest, AWrongDigestIsNamed) {
  const auto path = directory_.path() / "wrong";
  const Fd fd = open_file(path, O_RDWR | O_CREAT);
  SquashfsWriter writer(fd.get());
  Merge all(writer);
  try {
    all.add_layer(*layer(TarBuilder().file("a", "").done(), "sha256:" + std::string(64, '0')));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer: its digest is sha256:"));
  }
}

TEST_F(MergeTest, ChangesToAnImageKeepTheRestOfIt) {
  store::Store store(directory_.path() / "store");
  Layers base, change;
  base.push_back(layer(TarBuilder()
                           .file("big", std::string(400'000, 'b'))
                           .file("small", "s")
                           .link("again", "small")
                           .file("gone", "g")
                           .done()));
  store::Image image;
  image.name = "base";
  image = make_image(store, image, std::move(base));
  change.push_back(layer(TarBuilder().file(".wh.gone", "").file("new", "n").done()));
  auto written = change_image(store, image, std::move(change));
  written.image.name = "changed";
  const auto path = store.root_of(store.add(written.image, std::move(written.file)));
  EXPECT_EQ(content(path, "big"), std::string(400'000, 'b'));
  EXPECT_EQ(content(path, "again"), "s");
  EXPECT_EQ(content(path, "new"), "n");
  EXPECT_FALSE(has(path, "gone"));
}

}  // namespace
}  // namespace longship::image
