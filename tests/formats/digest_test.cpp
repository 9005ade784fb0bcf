// SPDX-License-Identifier: Apache-2.0
#include "formats/digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "message.h"

namespace longship::formats {
namespace {

using testing::HasSubstr;

// From FIPS 180-4's examples.
constexpr auto of_nothing = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr auto of_abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(DigestTest, KnownTextsHaveTheirKnownDigests) {
  EXPECT_EQ(digest_of(""), of_nothing);
  EXPECT_EQ(digest_of("abc"), of_abc);
}

TEST(DigestTest, PiecesGiveTheSameAsTheWholeAndItStartsAnew) {
  Sha256 sha;
  sha.update("a");
  sha.update("");
  sha.update("bc");
  EXPECT_EQ(sha.digest(), of_abc);
  EXPECT_EQ(sha.digest(), of_nothing);
}

TEST(DigestTest, OfAFileLargerThanTheBuffer) {
  const TemporaryDirectory directory;
  const std::string bytes(1'000'003, 'x');
  write_file(directory.path() / "file", bytes);
  EXPECT_EQ(digest_of_file(directory.path() / "file"), digest_of(bytes));
}

TEST(DigestTest, AFileThatIsNotThereOrNoFileIsNamed) {
  EXPECT_THAT(message_of([] { (void)digest_of_file("/nowhere/x"); }), HasSubstr("/nowhere/x: No such file"));
  EXPECT_THAT(message_of([] { (void)digest_of_file("/"); }), HasSubstr("Is a directory"));
}

TEST(DigestTest, OnlyTheOneFormIsADigest) {
  const std::string good = of_abc;
  EXPECT_TRUE(is_digest(good));
  EXPECT_EQ(hex_of(good), good.substr(7));
  auto upper = good;
  upper[7] = 'B';
  for (const auto& bad : {std::string(), good.substr(1), good + "0", good.substr(0, 70),
                          "sha512:" + good.substr(7), upper, "sha256:../../" + good.substr(13)}) {
    EXPECT_FALSE(is_digest(bad)) << bad;
    EXPECT_THAT(message_of([&] { (void)hex_of(bad); }), HasSubstr("is no digest: expected sha256: and 64"));
  }
}

}  // namespace
}  // namespace longship::formats
