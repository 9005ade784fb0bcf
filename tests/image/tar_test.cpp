// SPDX-License-Identifier: Apache-2.0
#include "image/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::HasSubstr;

std::vector<Member> members_of(const std::string& archive) {
  MemorySource source(archive);
  TarReader reader(source);
  std::vector<Member> members;
  while (auto member = reader.next()) members.push_back(*member);
  return members;
}

std::string error_of(const std::string& archive) {
  try {
    (void)members_of(archive);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TarTest, MembersComeInOrderWithTheirContents) {
  const std::string archive =
      TarBuilder().directory("a/").file("a/b", "hello", 0755).symlink("a/c", "../b").done();
  MemorySource source(archive);
  TarReader reader(source);
  EXPECT_EQ(reader.next()->path, "a");
  const auto file = reader.next();
  EXPECT_EQ(file->path, "a/b");
  EXPECT_EQ(file->mode, 0755u);
  EXPECT_EQ(file->mtime, 01750);
  EXPECT_EQ(read_rest(reader.content(), 100), "hello");
  EXPECT_EQ(reader.next()->link, "../b");
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.has_end_marker());
}

TEST(TarTest, LeadingSlashesAndDotsAreRelativeToTheRoot) {
  const auto members = members_of(TarBuilder().file("/etc/x", "").file("./y//z/.", "").done());
  EXPECT_EQ(members[0].path, "etc/x");
  EXPECT_EQ(members[1].path, "y/z");
}

TEST(TarTest, PaxNamesSizesTimesAndAttributesWin) {
  const std::string name(200, 'n');
  const auto members = members_of(TarBuilder()
                                      .pax({{"path", name}, {"mtime", "12.5"}, {"SCHILY.xattr.user.a", "b"}})
                                      .file("short", "x")
                                      .done());
  EXPECT_EQ(members[0].path, name);
  EXPECT_EQ(members[0].mtime, 12);
  EXPECT_EQ(members[0].attributes.at("user.a"), "b");
}

TEST(TarTest, GnuLongNamesAndBase256SizesAreUnderstood) {
  const std::string name(180, 'g');
  const std::string size = std::string("\x80\0\0\0\0\0\0\0\0\0\0", 11) + '\x03';
  const auto members = members_of(TarBuilder()
                                      .add({.name = "././@LongLink", .type = 'L', .content = name + '\0'})
                                      .add({.name = "x", .content = "abc", .size_field = size})
                                      .done());
  EXPECT_EQ(members[0].path, name);
  EXPECT_EQ(members[0].size, 3u);
}

TEST(TarTest, WhiteoutsSayWhatTheyHide) {
  const auto members =
      members_of(TarBuilder().file("a/.wh.b", "").file("a/.wh..wh..opq", "").file(".wh..wh.plnk", "").done());
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].kind, Kind::whiteout);
  EXPECT_EQ(members[0].path, "a/b");
  EXPECT_EQ(members[1].kind, Kind::opaque);
  EXPECT_EQ(members[1].path, "a");
}

struct Attack {
  std::string name, archive, error;
};

class TarAttackTest : public testing::TestWithParam<Attack> {};

TEST_P(TarAttackTest, IsRefusedWithItsReason) {
  EXPECT_THAT(error_of(GetParam().archive), HasSubstr(GetParam().error));
}

std::string with_size(const std::string& size) {
  return TarBuilder().add({.name = "f", .content = "abc", .size_field = size}).done();
}

INSTANTIATE_TEST_SUITE_P(
    Table, TarAttackTest,
    testing::Values(
        Attack{"parent", TarBuilder().file("a/../../etc/passwd", "").done(), "could leave the image"},
        Attack{"parent_in_pax", TarBuilder().pax({{"path", "../x"}}).file("x", "").done(),
               "could leave the image"},
        Attack{"link_outside", TarBuilder().link("a", "../../etc/shadow").done(), "could leave the image"},
        Attack{"whiteout_of_parent", TarBuilder().file("a/.wh...", "").done(), "does not say what it hides"},
        Attack{"whiteout_of_nothing", TarBuilder().file("a/.wh.", "").done(), "does not say what it hides"},
        Attack{"control_characters", TarBuilder().file("a\x1b[31m/..", "").done(), "a\\x1b[31m/.."},
        Attack{"nul_in_pax", TarBuilder().pax({{"path", std::string("a\0b", 3)}}).file("x", "").done(),
               "NUL"},
        Attack{"long_part", TarBuilder().pax({{"path", std::string(300, 'a')}}).file("x", "").done(),
               "over 255 bytes"},
        Attack{"negative_size", with_size("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "negative"},
        Attack{"huge_size", with_size(std::string("\x80\x7f\0\0\0\0\0\0\0\0\0\0", 12)), "out of range"},
        Attack{"untrue_size", with_size(std::string("\x80\0\0\0\0\x10\0\0\0\0\0\0", 12)), "cannot be true"},
        Attack{"size_beyond_the_end", with_size("00000077777"), "ends in the middle"},
        Attack{"not_octal", with_size("0000009"), "not a number"},
        Attack{"huge_pax",
               TarBuilder().add({.name = "p", .type = 'x', .content = std::string(2 << 20, 'x')}).done(),
               "larger than"},
        Attack{"pax_length_lies",
               TarBuilder().add({.name = "p", .type = 'x', .content = "99 path=x\n"}).file("x", "").done(),
               "wrong length"},
        Attack{"pax_without_key",
               TarBuilder().add({.name = "p", .type = 'x', .content = "6 =ab\n"}).file("x", "").done(),
               "without a key"},
        Attack{"unknown_type", TarBuilder().add({.name = "s", .type = 'Z'}).done(), "type Z is not known"},
        Attack{"empty_link", TarBuilder().symlink("s", "").done(), "impossible target"},
        Attack{"file_as_root", TarBuilder().file("./", "").add({.name = ".", .content = "x"}).done(),
               "only a directory"},
        Attack{"truncated_header", TarBuilder().file("a", "b").unfinished() + std::string(100, 'x'),
               "truncated"},
        Attack{"truncated_content",
               TarBuilder().file("a", std::string(5000, 'b')).unfinished().substr(0, 2000),
               "ends in the middle"},
        Attack{"not_a_tar", std::string(1024, 'x'), "not a tar archive"}),
    [](const auto& attack) { return attack.param.name; });

TEST(TarTest, WithoutAnEndMarkerItSaysSo) {
  const std::string archive = TarBuilder().file("a", "b").unfinished();
  MemorySource source(archive);
  TarReader reader(source);
  while (reader.next()) {
  }
  EXPECT_FALSE(reader.has_end_marker());
}

TEST(TarTest, TheFuzzersCorpusIsReadOrRefused) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LONGSHIP_TAR_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    (void)error_of(std::string(std::istreambuf_iterator<char>(file), {}));
    ++read;
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace longship::image
