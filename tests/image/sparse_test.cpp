// SPDX-License-Identifier: Apache-2.0
#include "image/sparse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "image/tar.h"
#include "image/tar_builder.h"

namespace longship::image {
namespace {

using testing::HasSubstr;
using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // offset, length

std::string octal(std::uint64_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%011llo", static_cast<unsigned long long>(value));
  return std::string(text, 11) + '\0';
}

std::string entries(const Pairs& pairs, std::size_t from, std::size_t most) {
  std::string text;
  for (std::size_t i = from; i < std::min(pairs.size(), from + most); ++i)
    text += octal(pairs[i].first) + octal(pairs[i].second);
  return text;
}

// A map in each of the four forms, in front of the same content and of a member that must be found behind it.

std::string old_form(const Pairs& pairs, std::uint64_t size, const std::string& content) {
  TarEntry entry{.name = "s", .type = 'S', .size_field = octal(content.size())};
  entry.fields = {{257, std::string("ustar  \0", 8)},
                  {386, entries(pairs, 0, 4)},
                  {482, std::string(1, pairs.size() > 4 ? '\1' : '\0')},
                  {483, octal(size)}};
  TarBuilder tar;
  tar.add(entry);
  for (std::size_t at = 4; at < pairs.size(); at += 21) {
    std::string block = entries(pairs, at, 21);
    block.resize(512);
    block[504] = at + 21 < pairs.size() ? '\1' : '\0';
    tar.blocks(block);
  }
  return tar.blocks(content).file("next", "here").done();
}

std::string with_records(const std::string& records, const std::string& content) {
  return TarBuilder()
      .add({.name = "pax", .type = 'x', .content = records})
      .file("GNUSparseFile.1/s", content)
      .file("next", "here")
      .done();
}

std::string record(const std::string& key, const std::string& value) {
  return TarBuilder::record("GNU.sparse." + key, value);
}

std::string pax00(const Pairs& pairs, std::uint64_t size, const std::string& content) {
  std::string records = record("size", std::to_string(size)) +
                        record("numblocks", std::to_string(pairs.size())) + TarBuilder::record("path", "s");
  for (const auto& [offset, length] : pairs)
    records += record("offset", std::to_string(offset)) + record("numbytes", std::to_string(length));
  return with_records(records, content);
}

std::string pax01(const Pairs& pairs, std::uint64_t size, const std::string& content) {
  std::string map;
  for (const auto& [offset, length] : pairs)
    map += (map.empty() ? "" : ",") + std::to_string(offset) + "," + std::to_string(length);
  return with_records(record("size", std::to_string(size)) + record("name", "s") +
                          record("numblocks", std::to_string(pairs.size())) + record("map", map),
                      content);
}

std::string pax10(const Pairs& pairs, std::uint64_t size, const std::string& content) {
  std::string map = std::to_string(pairs.size()) + "\n";
  for (const auto& [offset, length] : pairs)
    map += std::to_string(offset) + "\n" + std::to_string(length) + "\n";
  map.resize((map.size() + 511) / 512 * 512);
  return with_records(record("major", "1") + record("minor", "0") + record("name", "s") +
                          record("realsize", std::to_string(size)),
                      map + content);
}

struct Form {
  std::string name;
  std::string (*make)(const Pairs& pairs, std::uint64_t size, const std::string& content);
};

class SparseTest : public testing::TestWithParam<Form> {
 protected:
  static std::string made(const Pairs& pairs, std::uint64_t size, const std::string& content) {
    return GetParam().make(pairs, size, content);
  }
};

struct Read {
  std::string content, error = "no error";
};

// The whole archive, with what is in "s".
Read read(const std::string& archive, bool contents = true) {
  Read found;
  try {
    MemorySource source(archive);
    TarReader reader(source);
    std::vector<std::string> names;
    while (const auto member = reader.next()) {
      names.push_back(member->path);
      if (member->path != "s" || !contents) continue;
      found.content = read_rest(reader.content(), 1u << 20);
      EXPECT_EQ(member->size, found.content.size());
    }
    EXPECT_THAT(names, testing::ElementsAre("s", "next"));
  } catch (const Error& error) {
    found.error = error.what();
  }
  return found;
}

TEST_P(SparseTest, HolesAreZerosAndPiecesAreWhereTheyWere) {
  const auto found = read(made({{3, 2}, {5, 1}, {600, 4}}, 1000, "abcDEFG"));
  EXPECT_EQ(found.error, "no error");
  std::string expected(1000, '\0');
  expected.replace(3, 3, "abc").replace(600, 4, "DEFG");
  EXPECT_EQ(found.content, expected);
}

TEST_P(SparseTest, AHoleAtTheEndAFileOfHolesAndOneWithoutAny) {
  EXPECT_EQ(read(made({{0, 3}, {700, 0}}, 700, "abc")).content, "abc" + std::string(697, '\0'));
  EXPECT_EQ(read(made({{9, 0}}, 9, "")).content, std::string(9, '\0'));
  EXPECT_EQ(read(made({}, 9, "")).content, std::string(9, '\0'));
  EXPECT_EQ(read(made({{0, 3}}, 3, "abc")).content, "abc");
}

TEST_P(SparseTest, ManyPiecesContinueInFurtherBlocks) {
  Pairs pairs;
  std::string content, expected(20 * 100, '\0');
  for (std::size_t i = 0; i < 100; ++i) {
    pairs.emplace_back(20 * i + 7, 2);
    content += "xy";
    expected.replace(20 * i + 7, 2, "xy");
  }
  const auto found = read(made(pairs, expected.size(), content));
  EXPECT_EQ(found.error, "no error");
  EXPECT_EQ(found.content, expected);
}

TEST_P(SparseTest, WhatIsNotReadIsSkipped) {
  EXPECT_EQ(read(made({{3, 2}, {600, 4}}, 1000, "abDEFG"), false).error, "no error");
}

TEST_P(SparseTest, AMapThatLiesIsRefusedWithItsReason) {
  const std::string six = "abcdef";
  EXPECT_THAT(read(made({{0, 3}, {2, 3}}, 100, six)).error, HasSubstr("overlap"));
  EXPECT_THAT(read(made({{50, 3}, {20, 3}}, 100, six)).error, HasSubstr("not in order"));
  EXPECT_THAT(read(made({{98, 6}}, 100, six)).error, HasSubstr("beyond its 100 bytes"));
  EXPECT_THAT(read(made({{200, 6}}, 100, six)).error, HasSubstr("beyond its 100 bytes"));
  EXPECT_THAT(read(made({{0, 5}}, 100, six)).error, HasSubstr("wants 5 bytes, and the archive has 6"));
  EXPECT_THAT(read(made({{0, 60}}, 100, six)).error, HasSubstr("wants 60 bytes, and the archive has 6"));
  EXPECT_THAT(read(made({{0, 5}}, 100, six)).error, HasSubstr("member s"));
}

TEST_P(SparseTest, MoreThanAFileCanHaveIsRefusedBeforeAnyOfItIsRead) {
  constexpr std::uint64_t tera = std::uint64_t{1} << 40;
  const bool has_room = GetParam().name != "old";  // eleven octal digits end at 8 GiB
  if (!has_room) return;
  EXPECT_THAT(read(made({{0, 6}}, 5 * tera, "abcdef")).error, HasSubstr("cannot be true"));
  EXPECT_THAT(read(made({{0, 6}}, 2 * tera, "abcdef")).error, HasSubstr("holes in the archive are more"));
}

INSTANTIATE_TEST_SUITE_P(Forms, SparseTest,
                         testing::Values(Form{"old", old_form}, Form{"pax00", pax00}, Form{"pax01", pax01},
                                         Form{"pax10", pax10}),
                         [](const auto& form) { return form.param.name; });

TEST(SparseAttackTest, EndlessBlocksOfAMapEnd) {
  TarBuilder tar;
  TarEntry entry{.name = "s", .type = 'S'};
  entry.fields = {{257, std::string("ustar  \0", 8)}, {482, "\1"}, {483, octal(9)}};
  tar.add(entry);
  std::string block(512, '\0');
  block[504] = '\1';
  for (int i = 0; i < 2100; ++i) tar.blocks(block);
  EXPECT_THAT(read(tar.done()).error, HasSubstr("map of holes is too long"));
}

TEST(SparseAttackTest, AMapInFrontThatIsNoneIsRefused) {
  const auto front = [](std::string text) {
    text.resize((text.size() + 511) / 512 * 512);
    return read(with_records(record("major", "1") + record("minor", "0") + record("name", "s") +
                                 record("realsize", "9"),
                             text))
        .error;
  };
  EXPECT_THAT(front("x\n"), HasSubstr("not a number"));
  EXPECT_THAT(front("-1\n"), HasSubstr("not a number"));
  EXPECT_THAT(front(std::string(30, '1')), HasSubstr("malformed"));
  EXPECT_THAT(front("5\n1\n1\n"), HasSubstr("malformed"));  // its padding is no number
  EXPECT_THAT(front("99999999999\n" + std::string(500, '\n')), HasSubstr("not a number"));
  EXPECT_THAT(front(""), HasSubstr("longer than the member"));
  std::string endless = "18446744073709551615\n";
  while (endless.size() < 2u << 20) endless += "0\n0\n";
  EXPECT_THAT(front(endless), HasSubstr("too long"));
}

TEST(SparseAttackTest, RecordsThatDoNotFitTogetherAreRefused) {
  const auto error = [](const std::string& records) { return read(with_records(records, "abc")).error; };
  const std::string size = record("size", "9");
  EXPECT_THAT(error(record("map", "0,3")), HasSubstr("does not say how large"));
  EXPECT_THAT(error(size + record("map", "0,3,5")), HasSubstr("offset without a length"));
  EXPECT_THAT(error(size + record("map", "0,")), HasSubstr("not a number"));
  EXPECT_THAT(error(size + record("offset", "0")), HasSubstr("offset without a length"));
  EXPECT_THAT(error(size + record("numbytes", "0")), HasSubstr("length without an offset"));
  EXPECT_THAT(error(size + record("numblocks", "2") + record("map", "0,3")),
              HasSubstr("should have 2 pieces"));
  EXPECT_THAT(error(size + record("major", "2")), HasSubstr("format 2.0"));
  EXPECT_THAT(error(size + record("name", "../s")), HasSubstr("could leave the image"));
}

TEST(SparseAttackTest, OnlyAFileHasHoles) {
  EXPECT_THAT(read(TarBuilder().pax({{"GNU.sparse.size", "9"}}).symlink("s", "t").done()).error,
              HasSubstr("is not a file"));
  EXPECT_THAT(read(TarBuilder().add({.name = "s", .type = 'S'}).done()).error,
              HasSubstr("of a kind that is not known"));
}

}  // namespace
}  // namespace longship::image
