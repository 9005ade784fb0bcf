// SPDX-License-Identifier: Apache-2.0
#include "fit/elf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "fit/elf_fixture.h"

namespace longship::fit {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const ElfFixture sample{.soname = "libmpi.so.40",
                        .needed = {"libopen-pal.so.40", "libc.so.6"},
                        .wants = {"GLIBC_2.2.5", "GLIBC_2.34"},
                        .has = {"GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30"},
                        .runpath = "$ORIGIN/../lib:/opt/lib"};

TEST(ElfTest, ALibrarySaysWhatItNeedsAndHas) {
  const auto elf = read_elf(make_elf(sample));
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->architecture, "x86_64");
  EXPECT_EQ(elf->soname, "libmpi.so.40");
  EXPECT_THAT(elf->needed, ElementsAre("libopen-pal.so.40", "libc.so.6"));
  EXPECT_THAT(elf->runpath, ElementsAre("$ORIGIN/../lib", "/opt/lib"));
  EXPECT_EQ(wanted_glibc(*elf), Version(2, 34));
  EXPECT_EQ(highest(elf->has, "GLIBCXX_"), Version(3, 4, 30));
}

TEST(ElfTest, TheRunningProgramIsReadAsTheLoaderReadsIt) {
  const auto elf = read_elf(read_file("/proc/self/exe"));
  ASSERT_TRUE(elf);
  EXPECT_THAT(elf->needed, Contains("libc.so.6"));
  EXPECT_TRUE(wanted_glibc(*elf));
}

TEST(ElfTest, WhatIsNoElfFileIsNothing) {
  EXPECT_FALSE(read_elf(""));
  EXPECT_FALSE(
      read_elf("\x7f"
               "ELF"));
  EXPECT_FALSE(read_elf(std::string(4096, 'x')));
}

TEST(ElfTest, TextsAreSearchedWithoutTheCodeWhereThatIsApart) {
  const auto whole = make_elf(sample);
  ASSERT_EQ(constants_of(whole).size(), 1u);  // one segment for everything
  EXPECT_EQ(constants_of(whole)[0].size(), whole.size());
  EXPECT_EQ(constants_of("no ELF file"), std::vector<std::string_view>{"no ELF file"});
  const auto self = read_file("/proc/self/exe");
  std::size_t size = 0;
  bool found = false;
  for (const auto part : constants_of(self)) {
    size += part.size();
    found = found || part.find("a text that only this test has") != std::string_view::npos;
  }
  EXPECT_TRUE(found);
  EXPECT_LT(size, self.size());
}

// Each byte that could mislead it is changed; under ASan a read outside the file ends the test.
TEST(ElfTest, DamagedFilesAreReadWithinTheirBounds) {
  const auto whole = make_elf(sample);
  for (std::size_t size = 0; size < whole.size(); ++size) (void)read_elf(whole.substr(0, size));
  for (std::size_t at = 4; at < whole.size(); ++at)
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      auto damaged = whole;
      damaged[at] = value;
      (void)read_elf(damaged);
      (void)constants_of(damaged);
    }
}

TEST(ElfTest, OfAnotherByteOrderNothingIsRead) {
  auto bytes = make_elf(sample);
  bytes[EI_DATA] = ELFDATA2MSB;
  const auto elf = read_elf(bytes);
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->architecture, "");
  EXPECT_THAT(elf->needed, IsEmpty());
}

TEST(ElfTest, CompactRelocationsNeedAGlibcThatKnowsThem) {
  EXPECT_EQ(wanted_glibc(*read_elf(make_elf({.soname = "a", .wants = {"GLIBC_2.2.5", "GLIBC_ABI_DT_RELR"}}))),
            Version(2, 36));
  EXPECT_EQ(wanted_glibc(*read_elf(make_elf({.soname = "a", .wants = {"GLIBC_2.38", "GLIBC_ABI_DT_RELR"}}))),
            Version(2, 38));
  EXPECT_FALSE(wanted_glibc(*read_elf(make_elf({.soname = "a", .wants = {"GLIBC_PRIVATE"}}))));
}

}  // namespace
}  // namespace longship::fit
