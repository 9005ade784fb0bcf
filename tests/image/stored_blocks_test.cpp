// SPDX-License-Identifier: Apache-2.0
#include "image/stored_blocks.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"

namespace longship::image {
namespace {

class StoredBlocksTest : public testing::Test {
 protected:
  StoredBlocksTest() { file_.write_at(&file_, 0, "superblock", 10); }

  struct Bytes {
    std::string bytes;
    std::uint64_t checksum = 0;
  };
  std::uint64_t row(const std::vector<Bytes>& blocks) {
    stored_.begin_row();
    for (const auto& [bytes, checksum] : blocks) stored_.append(bytes, checksum);
    return stored_.end_row();
  }
  std::string content() { return read_file(directory_.path() / "file"); }

  TemporaryDirectory directory_;
  Fd fd_ = open_file(directory_.path() / "file", O_RDWR | O_CREAT | O_EXCL, 0600);
  SquashFile file_{fd_.get()};
  StoredBlocks stored_{file_};
};

TEST_F(StoredBlocksTest, RowsLieOneBehindTheOther) {
  EXPECT_EQ(row({{"aa", 1}, {"bbb", 2}}), 10u);
  EXPECT_EQ(row({{"cc", 3}}), 15u);
  EXPECT_EQ(content(), "superblockaabbbcc");
}

TEST_F(StoredBlocksTest, AnEqualRowIsStoredOnce) {
  EXPECT_EQ(row({{"aa", 1}, {"bbb", 2}}), 10u);
  EXPECT_EQ(row({{"cc", 3}}), 15u);
  EXPECT_EQ(row({{"aa", 1}, {"bbb", 2}}), 10u);
  EXPECT_EQ(row({{"dd", 4}}), 17u);
  EXPECT_EQ(content(), "superblockaabbbccdd");
}

TEST_F(StoredBlocksTest, SoIsOneThatAnotherBeginsWith) {
  EXPECT_EQ(row({{"aa", 1}, {"bbb", 2}}), 10u);
  EXPECT_EQ(row({{"aa", 1}}), 10u);
  EXPECT_EQ(content(), "superblockaabbb");
}

TEST_F(StoredBlocksTest, ARowThatGoesOnOtherwiseIsAnother) {
  EXPECT_EQ(row({{"aa", 1}, {"bbb", 2}}), 10u);
  EXPECT_EQ(row({{"aa", 1}, {"ccc", 3}}), 15u);
  EXPECT_EQ(row({{"aa", 1}, {"ccc", 3}}), 15u);
  EXPECT_EQ(content(), "superblockaabbbaaccc");
}

TEST_F(StoredBlocksTest, ALongerRowIsAnother) {
  EXPECT_EQ(row({{"aa", 1}}), 10u);
  EXPECT_EQ(row({{"aa", 1}, {"aa", 1}}), 12u);
  EXPECT_EQ(content(), "superblockaaaaaa");
}

TEST_F(StoredBlocksTest, TheSameChecksumDoesNotMakeThemEqual) {
  EXPECT_EQ(row({{"aa", 1}}), 10u);
  EXPECT_EQ(row({{"bb", 1}}), 12u);
  EXPECT_EQ(row({{"b", 1}}), 14u);
  EXPECT_EQ(row({{"bb", 1}}), 12u);
  EXPECT_EQ(content(), "superblockaabbb");
}

TEST_F(StoredBlocksTest, ABlockOutsideOfRowsIsKept) {
  EXPECT_EQ(row({{"aa", 1}}), 10u);
  EXPECT_EQ(stored_.append("aa", 1), 12u);
  EXPECT_EQ(row({{"aa", 1}}), 10u);
  EXPECT_EQ(content(), "superblockaaaa");
}

TEST_F(StoredBlocksTest, ARowOfNothingIsNowhere) {
  EXPECT_EQ(row({}), 0u);
}

}  // namespace
}  // namespace longship::image
