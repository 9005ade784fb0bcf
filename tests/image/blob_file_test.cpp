// SPDX-License-Identifier: Apache-2.0
#include "image/blob_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace longship::image {
namespace {

const std::string whole = "all of the blob";

struct BlobFileTest : testing::Test {
  TemporaryDirectory directory;
  std::filesystem::path path = directory.path() / "blob";

  Fd with(const std::string& content) {
    write_file(path, content);
    return open_file(path, O_RDWR);
  }
  std::string content() { return read_file(path, 1000); }
};

TEST_F(BlobFileTest, GoesOnWithWhatIsThere) {
  const Fd file = with(whole.substr(0, 6));
  BlobFile blob(file.get(), formats::digest_of(whole), whole.size());
  EXPECT_EQ(blob.here(), 6u);
  EXPECT_FALSE(blob.is_complete());
  blob.append(whole.substr(6, 3));
  blob.append(whole.substr(9));
  EXPECT_TRUE(blob.is_complete());
  EXPECT_TRUE(blob.verify());
  EXPECT_EQ(content(), whole);
}

TEST_F(BlobFileTest, AWrongBeginningIsFoundOutAtTheEndAndThrownAway) {
  const Fd file = with("wrong ");
  BlobFile blob(file.get(), formats::digest_of(whole), whole.size());
  blob.append(whole.substr(6));
  EXPECT_FALSE(blob.verify());
  EXPECT_EQ(content(), "");
  blob.append(whole);
  EXPECT_TRUE(blob.verify());
  EXPECT_EQ(content(), whole);
}

TEST_F(BlobFileTest, MoreThanItShouldHaveIsThrownAway) {
  const Fd file = with(whole + "and more");
  BlobFile blob(file.get(), formats::digest_of(whole), whole.size());
  EXPECT_EQ(blob.here(), 0u);
  try {
    blob.append(whole + "!");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("more comes than the 15 bytes"));
  }
  EXPECT_EQ(content(), "");
}

}  // namespace
}  // namespace longship::image
