// SPDX-License-Identifier: Apache-2.0
// Layers as an attacker writes them: each is refused with the layer and the member, or becomes an image that
// stays within itself, also when it is unpacked into a directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "box/unpack.h"
#include "image/merged.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

struct Attack {
  std::string name;
  std::vector<std::string> layers;  // the lowest first
  std::string member, error;
};

class RefusedLayerTest : public Merged, public testing::WithParamInterface<Attack> {};

TEST_P(RefusedLayerTest, IsNamedByLayerAndMember) {
  const auto& [name, layers, member, error] = GetParam();
  EXPECT_THAT(error_of(layers), AllOf(HasSubstr("layer: "), HasSubstr(member), HasSubstr(error)));
}

std::string one(const TarEntry& entry) {
  return TarBuilder().add(entry).done();
}

// A chain of hard links that ends where it began, in the order in which it is hardest to see.
TarBuilder circle() {
  return TarBuilder().link("c", "a").link("b", "c").link("a", "b");
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedLayerTest,
    testing::Values(
        Attack{"up_and_out",
               {TarBuilder().file("a/../../etc/passwd", "x").done()},
               "member a/../../etc/passwd",
               "could leave the image"},
        Attack{"up_after_an_absolute_name",
               {TarBuilder().file("/../etc/passwd", "x").done()},
               "member /../etc/passwd",
               "could leave the image"},
        Attack{"symbolic_link_then_write_through_it",
               {TarBuilder().symlink("a", "/etc").file("a/passwd", "x").done()},
               "member a/passwd",
               "not a directory"},
        Attack{"chain_of_links_then_write_through_it",
               {TarBuilder().symlink("a", "b").symlink("b", "..").file("a/b/x", "x").done()},
               "member a/b/x",
               "not a directory"},
        Attack{"symbolic_link_as_the_root",
               {TarBuilder().symlink(".", "/etc").file("passwd", "x").done()},
               "member .",
               "only a directory can be the root"},
        Attack{"symbolic_link_as_the_root_by_slash",
               {TarBuilder().symlink("/", "/etc").done()},
               "member /",
               "only a directory can be the root"},
        Attack{"hard_link_as_the_root",
               {TarBuilder().link("./", "x").done()},
               "member ./",
               "only a directory can be the root"},
        Attack{"hard_link_outside",
               {TarBuilder().link("a", "../../etc/shadow").done()},
               "member a",
               "could leave the image"},
        Attack{"hard_link_to_a_directory",
               {TarBuilder().directory("d").link("a", "d").done()},
               "member a",
               "hard link to a directory"},
        Attack{"hard_link_to_the_root",
               {TarBuilder().directory(".").link("a", "/").done()},
               "member a",
               "hard link to a directory"},
        Attack{"hard_link_to_itself", {TarBuilder().link("a", "./a").done()}, "member a", "to itself"},
        Attack{"hard_links_in_a_circle", {circle().done()}, "", "leads back to itself"},
        Attack{"hidden_hard_links_in_a_circle",
               {circle().link("d", "a").done(),
                TarBuilder().file(".wh.a", "").file(".wh.b", "").file(".wh.c", "").done()},
               "",
               "leads back to itself"},
        Attack{"whiteout_of_the_parent",
               {TarBuilder().file("a/.wh...", "").done()},
               "member a/.wh...",
               "does not say what it hides"},
        Attack{"whiteout_of_the_directory_itself",
               {TarBuilder().file("a/.wh..", "").done()},
               "member a/.wh..",
               "does not say what it hides"},
        Attack{"whiteout_outside",
               {TarBuilder().file("../.wh.etc", "").done()},
               "member ../.wh.etc",
               "could leave the image"},
        Attack{"whiteout_through_a_symbolic_link",
               {TarBuilder().symlink("a", "/etc").file("a/.wh.passwd", "").done()},
               "member a/passwd",
               "not a directory"},
        Attack{"opaque_through_a_symbolic_link",
               {TarBuilder().symlink("a", "/").file("a/b/.wh..wh..opq", "").done()},
               "member a/b",
               "not a directory"},
        Attack{"huge_attribute",
               {TarBuilder().pax({{"SCHILY.xattr.user.a", std::string(70'000, 'x')}}).file("a", "").done()},
               "member a",
               "Linux allows 65536"},
        Attack{"attributes_in_many_headers",
               {TarBuilder()
                    .file("before", "")
                    .pax({{"SCHILY.xattr.user.a", std::string(700'000, 'x')}})
                    .pax({{"SCHILY.xattr.user.b", std::string(700'000, 'x')}})
                    .file("a", "")
                    .done()},
               "after member before",
               "larger than the 1048576 allowed"},
        Attack{"size_beyond_the_end",
               {one({.name = "a", .content = "abc", .size_field = "00000077777"})},
               "member a",
               "ends in the middle of it"},
        Attack{"size_in_pax_beyond_the_end",
               {TarBuilder().pax({{"size", "999999"}}).file("a", "abc").done()},
               "member a",
               "ends in the middle of it"},
        Attack{"size_of_exabytes",
               {TarBuilder().pax({{"size", "9223372036854775807"}}).file("a", "abc").done()},
               "member a",
               "cannot be true"},
        Attack{"size_of_a_terabyte",
               {TarBuilder().pax({{"size", "1099511627776"}}).file("a", "abc").done()},
               "member a",
               "a file in an image at most 137438953472"},
        Attack{"size_less_than_nothing",
               {TarBuilder().pax({{"size", "-1"}}).file("a", "abc").done()},
               "",
               "not a number"},
        Attack{"size_that_hides_a_header",
               {one({.name = "a", .content = std::string(600, 'x'), .size_field = "00000000001"})},
               "after member a",
               "damaged"},
        Attack{"sparse", {one({.name = "a", .type = 'S'})}, "member a", "sparse"},
        Attack{"sparse_by_pax",
               {TarBuilder().pax({{"GNU.sparse.realsize", "1000000000000"}}).file("a", "").done()},
               "member a",
               "a file in an image at most 137438953472"},
        Attack{"name_of_5000_bytes",
               {TarBuilder().pax({{"path", std::string(5000, '/') + "a"}}).file("x", "").done()},
               "member /",
               "a name of 5001 bytes is too long"},
        Attack{"control_characters",
               {TarBuilder().link("a\x1b]0;owned\x07\n", "../x").done()},
               "member a\\x1b]0;owned\\x07\\n:",
               "could leave the image"},
        Attack{"bytes_that_are_not_utf8",
               {TarBuilder().link("\xff\xfe", "../x").done()},
               "member \\xff\\xfe",
               "could leave the image"}),
    [](const auto& attack) { return attack.param.name; });

class LayerAttackTest : public Merged {
 protected:
  // Into a directory that has neighbours, which must stay as they are.
  fs::path unpack(const fs::path& image) {
    const auto above = directory_.path() / ("unpacked" + std::to_string(++count_));
    fs::create_directories(above / "tree");
    write_file(above / "passwd", "the host's");
    box::unpack(open_file(image, O_RDONLY).get(), image,
                open_file(above / "tree", O_RDONLY | O_DIRECTORY).get());
    EXPECT_EQ(read_file(above / "passwd"), "the host's");
    EXPECT_EQ(std::distance(fs::directory_iterator(above), {}), 2);
    return above / "tree";
  }
};

TEST_F(LayerAttackTest, AbsoluteNamesLieInTheImage) {
  const auto tree = unpack(merge({TarBuilder().file("/etc/longship-attack", "x").done()}));
  EXPECT_EQ(read_file(tree / "etc/longship-attack"), "x");
  EXPECT_FALSE(fs::exists("/etc/longship-attack"));
}

TEST_F(LayerAttackTest, ALinkOutOfTheImageIsKeptAndNothingGoesThroughIt) {
  const auto tree =
      unpack(merge({TarBuilder().symlink("out", "..").symlink("etc", "/etc").done(),
                    TarBuilder().file("out/passwd", "x").file("etc/longship-attack", "x").done()}));
  EXPECT_FALSE(fs::exists("/etc/longship-attack"));
  // The first leads to the image's own root; the second to what the image has not.
  EXPECT_EQ(read_file(tree / "passwd"), "x");
  EXPECT_EQ(read_file(tree / "etc/longship-attack"), "x");
  EXPECT_FALSE(fs::is_symlink(tree / "etc"));
}

TEST_F(LayerAttackTest, LinksThatLeadToEachOtherEnd) {
  const auto tree = unpack(merge({TarBuilder().symlink("a", "b").symlink("b", "a").done(),
                                  TarBuilder().file("a/x", "1").file("b/y", "2").done()}));
  EXPECT_TRUE(fs::exists(tree / "a/x"));
  EXPECT_TRUE(fs::exists(tree / "b/y"));
}

TEST_F(LayerAttackTest, AnOpaqueRootHidesAllBelowAndNothingOfItsOwn) {
  const auto image = merge({TarBuilder().file("a", "1").file("d/b", "1").done(),
                            TarBuilder().file("c", "2").file(".wh..wh..opq", "").done()});
  EXPECT_FALSE(has(image, "a"));
  EXPECT_FALSE(has(image, "d"));
  EXPECT_EQ(content(image, "c"), "2");
}

TEST_F(LayerAttackTest, AWhiteoutThroughALinkOfALowerLayerRemovesNothingElsewhere) {
  const auto image = merge({TarBuilder().file("usr/lib/x", "1").symlink("lib", "usr/lib").done(),
                            TarBuilder().file("lib/.wh.x", "").done()});
  EXPECT_EQ(content(image, "usr/lib/x"), "1");
}

TEST_F(LayerAttackTest, DeviceNodesSetIdBitsAndCapabilitiesStayBehind) {
  const auto image = merge({TarBuilder()
                                .file("su", "x", 06755)
                                .directory("shared", 07777)
                                .add({.name = "disk", .type = '4'})
                                .add({.name = "mem", .type = '3'})
                                .pax({{"SCHILY.xattr.security.capability", "\x01"},
                                      {"SCHILY.xattr.trusted.overlay.opaque", "y"},
                                      {"SCHILY.xattr.user.overlay.opaque", "y"},
                                      {"SCHILY.xattr.system.posix_acl_access", "x"},
                                      {"SCHILY.xattr.user.kept", "v"}})
                                .file("ping", "x")
                                .done()});
  EXPECT_THAT(list(image), testing::ContainsRegex("-rwxr-xr-x 0/0 .*squashfs-root/su\n"));
  EXPECT_THAT(list(image), testing::ContainsRegex("drwxrwxrwt 0/0 .*squashfs-root/shared\n"));
  EXPECT_FALSE(has(image, "disk"));
  EXPECT_FALSE(has(image, "mem"));
  struct Attributes final : MemberSink {
    void add(const Member& member, ByteSource&) override {
      for (const auto& [name, value] : member.attributes) found += name + "=" + value + " ";
    }
    std::string found;
  } sink;
  squashfs_layer(image, false)->read(sink);
  EXPECT_EQ(sink.found, "user.kept=v ");
  const auto tree = unpack(image);
  EXPECT_EQ(fs::status(tree / "su").permissions(), fs::perms(0755));
}

TEST_F(LayerAttackTest, TheLastOfDuplicateMembersCountsWhateverItsType) {
  const auto image = merge({TarBuilder()
                                .file("a", "1")
                                .file("a", "2")
                                .directory("d")
                                .file("d/inner", "1")
                                .symlink("d", "/etc")
                                .symlink("l", "/etc")
                                .directory("l")
                                .file("l/passwd", "the image's")
                                .link("h", "a")
                                .file("h", "replaced")
                                .done()});
  EXPECT_EQ(content(image, "a"), "2");
  EXPECT_THAT(list(image), HasSubstr("squashfs-root/d -> /etc"));
  EXPECT_FALSE(has(image, "d/inner"));
  EXPECT_EQ(content(image, "l/passwd"), "the image's");
  EXPECT_EQ(content(image, "h"), "replaced");
  EXPECT_EQ(read_file(unpack(image) / "l/passwd"), "the image's");
}

TEST_F(LayerAttackTest, ALinkThatWaitedAndWasReplacedIsNotOverwritten) {
  const auto image = merge({TarBuilder().link("a", "z").file("a", "own").file("z", "other").done()});
  EXPECT_EQ(content(image, "a"), "own");
}

TEST_F(LayerAttackTest, LinksToLinksAreFollowedInAnyOrder) {
  const auto image =
      merge({TarBuilder().link("a", "b").link("b", "c").link("d", "a").file("c", "end").done()});
  for (const char* name : {"a", "b", "d"}) EXPECT_EQ(content(image, name), "end") << name;
}

TEST_F(LayerAttackTest, ALongChainOfHiddenLinksIsReadOnce) {
  TarBuilder below, above;
  constexpr int length = 20'000;
  for (int i = length; i > 0; --i) {
    below.link("l" + std::to_string(i - 1), "l" + std::to_string(i));
    above.file(".wh.l" + std::to_string(i - 1), "");
  }
  below.file("l" + std::to_string(length), "end").link("kept", "l0");
  above.file(".wh.l" + std::to_string(length), "");
  EXPECT_EQ(content(merge({below.done(), above.done()}), "kept"), "end");
}

TEST_F(LayerAttackTest, NamesOfAnyBytesAreKept) {
  const std::string name = "\xff\x01\n\x1b[31m\x80";
  const auto tree = unpack(merge({TarBuilder().file(name, "x").done()}));
  EXPECT_EQ(read_file(tree / name), "x");
}

TEST_F(LayerAttackTest, TheLongestNameThereIsCanBeUnpacked) {
  std::string name;
  while (name.size() + 256 <= 4094) name += std::string(255, 'n') + "/";
  name += std::string(4095 - name.size(), 'n');
  const auto tree = unpack(merge({TarBuilder().pax({{"path", name}}).file("x", "deep").done()}));
  const Fd root = open_file(tree, O_RDONLY | O_DIRECTORY);
  struct stat about {};
  EXPECT_EQ(::fstatat(root.get(), name.c_str(), &about, 0), 0);
  EXPECT_THAT(error_of({TarBuilder().pax({{"path", name + "n"}}).file("x", "").done()}),
              HasSubstr("a name of 4096 bytes is too long"));
}

TEST_F(LayerAttackTest, ADeepTreeDoesNotOverflowTheStack) {
  std::string name;
  for (int i = 0; i < 2047; ++i) name += "d/";
  const auto image = merge({TarBuilder().pax({{"path", name + "f"}}).file("x", "deep").done()});
  const auto tree = unpack(image);
  EXPECT_THAT(message_of([&] {
                struct Nothing final : MemberSink {
                  void add(const Member&, ByteSource&) override {}
                } sink;
                squashfs_layer(image, false)->read(sink);
              }),
              Not(HasSubstr("damaged")));
}

}  // namespace
}  // namespace longship::image
