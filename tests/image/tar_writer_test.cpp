// SPDX-License-Identifier: Apache-2.0
// What is written is read back by our own reader, which is strict.
#include "image/tar_writer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "image/decompress.h"
#include "image/gzip_writer.h"
#include "image/tar.h"

namespace longship::image {
namespace {

std::string archive_of(const std::vector<std::pair<Member, std::string>>& members) {
  std::string bytes;
  TarWriter writer([&](std::string_view piece) { bytes += piece; });
  for (const auto& [member, text] : members) {
    MemorySource content(text);
    writer.add(member, content);
  }
  writer.finish();
  return bytes;
}

Member file(const std::string& path, std::uint64_t size) {
  Member member;
  member.path = path;
  member.size = size;
  member.mode = 0640;
  member.mtime = 1234567890;
  return member;
}

TEST(TarWriterTest, EveryKindIsReadBack) {
  Member directory, link, hard, root;
  root.kind = directory.kind = Kind::directory;
  root.mode = directory.mode = 0755;
  directory.path = "d";
  link.kind = Kind::symlink;
  link.path = "d/link";
  link.link = std::string(150, 'x');
  hard.kind = Kind::hard_link;
  hard.path = "d/hard";
  hard.link = "d/f";
  Member named = file("d/" + std::string(200, 'n'), 3);
  named.attributes["user.note"] = std::string("a\0b\n", 4);
  const auto bytes = archive_of(
      {{root, ""}, {directory, ""}, {file("d/f", 5), "hello"}, {link, ""}, {hard, ""}, {named, "abc"}});
  EXPECT_EQ(bytes.size() % 512, 0u);

  MemorySource source(bytes);
  TarReader reader(source);
  std::map<std::string, Member> found;
  std::map<std::string, std::string> contents;
  while (const auto member = reader.next()) {
    found[member->path] = *member;
    contents[member->path] = read_rest(reader.content(), 100);
  }
  EXPECT_TRUE(reader.has_end_marker());
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found["d/f"].mode, 0640u);
  EXPECT_EQ(found["d/f"].mtime, 1234567890);
  EXPECT_EQ(contents["d/f"], "hello");
  EXPECT_EQ(found["d/link"].link, link.link);
  EXPECT_EQ(found["d/hard"].link, "d/f");
  EXPECT_EQ(found[named.path].attributes.at("user.note"), named.attributes.at("user.note"));
  EXPECT_EQ(contents[named.path], "abc");
}

TEST(TarWriterTest, AContentThatEndsEarlyIsAnError) {
  EXPECT_THROW(archive_of({{file("f", 10), "short"}}), Error);
}

TEST(GzipWriterTest, WhatIsPackedIsUnpackedWhateverThePieces) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919);
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, text.size()}) {
    std::string packed;
    GzipWriter writer([&](std::string_view bytes) { packed += bytes; });
    for (std::size_t at = 0; at < text.size(); at += piece)
      writer.write(std::string_view(text).substr(at, piece));
    writer.finish();
    EXPECT_LT(packed.size(), text.size());
    MemorySource source(packed);
    EXPECT_EQ(read_rest(*decompress(source, text.size()), text.size()), text);
  }
}

}  // namespace
}  // namespace longship::image
