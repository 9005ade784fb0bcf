// SPDX-License-Identifier: Apache-2.0
#include "pilot/outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "expect.h"

namespace longship::pilot {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() {
    fs::create_directories(work() / "checkpoints" / "old");
    fs::create_directories(into());
    write_file(home_.path() / "secret", "not the job's");
  }
  [[nodiscard]] fs::path work() const { return home_.path() / "work"; }
  [[nodiscard]] fs::path into() const { return home_.path() / "kept"; }

  std::vector<std::string> keep(const std::vector<std::string>& names) {
    result_ = keep_outputs(work(), names, into());
    std::vector<std::string> kept;
    for (const auto& output : result_.outputs) kept.push_back(output.name);
    return kept;
  }

  TemporaryDirectory home_;
  Kept result_;
};

TEST_F(OutputsTest, NamedFileIsMovedWhole) {
  write_file(work() / "model.pt", "weights");
  write_file(work() / "scratch", "x");
  EXPECT_THAT(keep({"model.pt"}), ElementsAre("model.pt"));
  EXPECT_EQ(read_file(into() / "model.pt"), "weights");
  EXPECT_EQ(result_.outputs[0].size, 7u);
  EXPECT_FALSE(fs::exists(into() / "scratch"));
  EXPECT_THAT(result_.missing, IsEmpty());
}

TEST_F(OutputsTest, DirectoryComesWithAllThatIsInIt) {
  write_file(work() / "checkpoints" / "1.pt", "1");
  write_file(work() / "checkpoints" / "old" / "0.pt", "0");
  EXPECT_THAT(keep({"checkpoints/"}), ElementsAre("checkpoints/1.pt", "checkpoints/old/0.pt"));
  EXPECT_EQ(read_file(into() / "checkpoints" / "old" / "0.pt"), "0");
  EXPECT_THAT(result_.missing, IsEmpty());
}

TEST_F(OutputsTest, PatternsMatchAtTheirPlace) {
  write_file(work() / "a.pt", "a");
  write_file(work() / "checkpoints" / "b.pt", "b");
  EXPECT_THAT(keep({"*.pt"}), ElementsAre("a.pt"));
  EXPECT_THAT(keep({"**/*.pt"}), ElementsAre("checkpoints/b.pt"));
}

TEST_F(OutputsTest, MissingNamesAreToldAndMissingPatternsAreNot) {
  EXPECT_THAT(keep({"model.pt", "*.jsonl"}), IsEmpty());
  EXPECT_THAT(result_.missing, ElementsAre("model.pt"));
}

TEST_F(OutputsTest, LinksAreNeverFollowed) {
  fs::create_symlink(home_.path() / "secret", work() / "model.pt");
  fs::create_symlink(home_.path(), work() / "checkpoints" / "up");
  EXPECT_THAT(keep({"model.pt", "checkpoints", "checkpoints/up/secret"}), IsEmpty());
  EXPECT_FALSE(fs::exists(into() / "model.pt"));
  EXPECT_TRUE(fs::exists(home_.path() / "secret"));
}

TEST_F(OutputsTest, FifoDoesNotHang) {
  ASSERT_EQ(::mkfifo((work() / "model.pt").c_str(), 0600), 0);
  EXPECT_THAT(keep({"model.pt"}), IsEmpty());
}

TEST_F(OutputsTest, WhatIsThereAlreadyIsNotOverwritten) {
  write_file(into() / "result.json", "ours");
  write_file(work() / "result.json", "theirs");
  EXPECT_THAT(message_of([&] { keep({"result.json"}); }), HasSubstr("cannot keep result.json: "));
  EXPECT_EQ(read_file(into() / "result.json"), "ours");
}

}  // namespace
}  // namespace longship::pilot
