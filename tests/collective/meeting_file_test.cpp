// SPDX-License-Identifier: Apache-2.0
#include "collective/meeting_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "base/file.h"
#include "collective/session.h"
#include "expect.h"

namespace longship::collective {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

const MeetingPoint example = {{"10.0.0.7", "127.0.0.1"}, 4711, Bytes(16, std::byte{0xaf})};

TEST(MeetingFileTest, IsReadAsWritten) {
  EXPECT_EQ(written(example),
            "longship-meeting 1\n10.0.0.7 127.0.0.1\n4711\nafafafafafafafafafafafafafafafaf\n");
  EXPECT_EQ(parsed_meeting(written(example)), example);
}

TEST(MeetingFileTest, WhatIsNotWholeIsNothing) {
  const std::string whole = written(example);
  for (std::size_t length = 0; length + 2 < whole.size(); ++length)
    EXPECT_EQ(parsed_meeting(whole.substr(0, length)), std::nullopt) << length;
  EXPECT_EQ(parsed_meeting("longship-meeting 1\n\n1\n" + std::string(32, 'a') + "\n"), std::nullopt);
  EXPECT_EQ(parsed_meeting("longship-meeting 1\nh\n0\n" + std::string(32, 'a') + "\n"), std::nullopt);
  EXPECT_EQ(parsed_meeting("longship-meeting 1\nh\n1\n" + std::string(32, 'x') + "\n"), std::nullopt);
}

TEST(MeetingFileTest, OnlyTheUserCanReadItAndNothingStays) {
  const TemporaryDirectory directory;
  const fs::path path = directory.path() / "new" / "job.meet";
  {
    const MeetingFile file(path, example);
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
    EXPECT_EQ(read_meeting_file(path), example);
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(MeetingFileTest, ADirectoryThatWasThereStays) {
  const TemporaryDirectory directory;
  { const MeetingFile file(directory.path() / "job.meet", example); }
  EXPECT_TRUE(fs::is_directory(directory.path()));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(MeetingFileTest, ALinkIsNotFollowed) {
  const TemporaryDirectory directory;
  const MeetingFile file(directory.path() / "job.meet", example);
  fs::create_symlink("job.meet", directory.path() / "link.meet");
  EXPECT_EQ(read_meeting_file(directory.path() / "link.meet"), std::nullopt);
}

TEST(MeetingFileTest, WhereItCannotBeWrittenTheErrorSaysWhatFor) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "file", "");
  EXPECT_THAT(message_of([&] { const MeetingFile file(directory.path() / "file" / "job.meet", example); }),
              HasSubstr("cannot leave word for the other ranks"));
}

TEST(MeetingFileTest, AnInterfaceThatIsNotThereIsNamed) {
  EXPECT_EQ(addresses_of_this_node("lo"), std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(message_of([] { static_cast<void>(addresses_of_this_node("no-such")); }),
            "LONGSHIP_INTERFACE is no-such, but no interface of that name has an IPv4 address");
}

class MeetingByFileTest : public testing::Test {
 protected:
  World world(int rank, int size) const {
    World one;
    one.rank = rank;
    one.size = size;
    one.node = "node" + std::to_string(rank % 2);
    one.meeting_file = directory.path() / "job.meet";
    one.patience = 20s;
    return one;
  }
  // Rank 0 comes last.
  void meet_again() const {
    std::vector<std::thread> threads;
    for (int rank = 2; rank >= 0; --rank)
      threads.emplace_back([&, rank] {
        const Session session(world(rank, 3), "", {});
        EXPECT_EQ(session.local_size(), rank == 1 ? 1 : 2);
      });
    for (auto& thread : threads) thread.join();
  }
  TemporaryDirectory directory;
};

TEST_F(MeetingByFileTest, RanksMeetAgainAndAgain) {
  for (int round = 0; round < 3; ++round) meet_again();
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(MeetingByFileTest, WhatAKilledJobLeftIsNoHarm) {
  write_file(directory.path() / "job.meet", written({{"127.0.0.1"}, 1, Bytes(32, std::byte{1})}), 0600);
  meet_again();
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(MeetingByFileTest, WithoutRank0TheErrorNamesTheFile) {
  World alone = world(1, 2);
  alone.patience = 1s;
  EXPECT_THAT(message_of([&] { const Session session(alone, "", {}); }),
              HasSubstr("cannot join the other ranks: rank 0 was not found through " +
                        alone.meeting_file.string() + " within 1 s: it is not there"));
}

}  // namespace
}  // namespace longship::collective
