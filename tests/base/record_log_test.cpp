// SPDX-License-Identifier: Apache-2.0
#include "base/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace longship {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> all_records(const fs::path& path) {
  RecordLogReader reader(path);
  std::vector<std::string> payloads;
  while (const auto record = reader.next()) {
    EXPECT_EQ(record->number, payloads.size());
    payloads.emplace_back(record->payload);
  }
  return payloads;
}

void overwrite(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string error_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class RecordLogTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const fs::path path_ = directory_.path() / "log";
};

TEST_F(RecordLogTest, WhatWasAppendedIsReadInOrder) {
  RecordLogWriter writer(path_);
  EXPECT_EQ(writer.append("one"), 0u);
  EXPECT_EQ(writer.append(""), 1u);
  const std::string large(300'000, 'x');  // larger than the reader's window
  EXPECT_EQ(writer.append(large), 2u);
  EXPECT_THAT(all_records(path_), ElementsAre("one", "", large));
}

TEST_F(RecordLogTest, AnAbsentOrEmptyLogHasNoRecords) {
  EXPECT_TRUE(all_records(path_).empty());
  overwrite(path_, "");
  EXPECT_TRUE(all_records(path_).empty());
}

TEST_F(RecordLogTest, AReaderFollowsALogThatGrows) {
  RecordLogReader reader(path_);
  EXPECT_FALSE(reader.next());
  RecordLogWriter writer(path_, {.segment_bytes = 100});
  EXPECT_FALSE(reader.next());
  for (int i = 0; i < 50; ++i) {
    writer.append("record " + std::to_string(i));
    const auto record = reader.next();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->payload, "record " + std::to_string(i));
    EXPECT_FALSE(reader.next());
    const auto [segment, offset] = reader.position();
    EXPECT_EQ(offset, fs::file_size(record_log_segment(path_, segment)));
  }
  EXPECT_TRUE(fs::exists(record_log_segment(path_, 10)));
}

TEST_F(RecordLogTest, NumbersGoOnAcrossSegmentsAndWriters) {
  for (unsigned i = 0; i < 20; ++i) {
    RecordLogWriter writer(path_, {.segment_bytes = 64});
    EXPECT_EQ(writer.bytes_cut(), 0u);
    EXPECT_EQ(writer.append(std::to_string(i)), i);
  }
  EXPECT_EQ(all_records(path_).size(), 20u);
}

TEST_F(RecordLogTest, ATooLargeRecordIsRefused) {
  RecordLogWriter writer(path_);
  EXPECT_THAT(error_of([&] { writer.append(std::string(RecordLogWriter::largest_payload + 1, 'x')); }),
              HasSubstr("too large"));
  EXPECT_EQ(writer.append("small"), 0u);
}

TEST_F(RecordLogTest, ADurableLogIsSynced) {
  RecordLogWriter writer(path_, {.segment_bytes = 64, .durable = true});
  for (int i = 0; i < 5; ++i) writer.append("record");
  EXPECT_EQ(all_records(path_).size(), 5u);
}

TEST_F(RecordLogTest, AnotherKindOfFileIsNeitherReadNorDestroyed) {
  const std::string text = "this is my thesis, not a log, please keep it";
  overwrite(path_, text);
  EXPECT_THAT(error_of([&] { RecordLogWriter writer(path_); }), HasSubstr("is not a record log"));
  EXPECT_THAT(error_of([&] { (void)RecordLogReader(path_).next(); }), HasSubstr("is not a record log"));
  EXPECT_EQ(read_file(path_), text);
  overwrite(path_, "short");
  EXPECT_THAT(error_of([&] { RecordLogWriter writer(path_); }), HasSubstr("is not a record log"));
  EXPECT_EQ(read_file(path_), "short");
}

TEST_F(RecordLogTest, ASymbolicLinkIsNotFollowed) {
  fs::create_symlink(directory_.path() / "elsewhere", path_);
  EXPECT_THAT(error_of([&] { RecordLogWriter writer(path_); }), HasSubstr("cannot open"));
  EXPECT_FALSE(fs::exists(directory_.path() / "elsewhere"));
}

// Whatever is left of a log after a crash: the whole records are read, a new writer goes on behind them.
TEST_F(RecordLogTest, EveryTruncationKeepsTheWholeRecordsAndCanBeContinued) {
  const std::vector<std::string> payloads = {"first", "", "the third record", std::string(40, 'z')};
  std::vector<std::size_t> ends;
  {
    RecordLogWriter writer(path_);
    for (const auto& payload : payloads) {
      writer.append(payload);
      ends.push_back(fs::file_size(path_));
    }
  }
  const std::string whole = read_file(path_);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    overwrite(path_, std::string_view(whole).substr(0, size));
    const auto kept = static_cast<std::size_t>(
        std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= size; }));
    std::vector<std::string> expected(payloads.begin(), payloads.begin() + static_cast<std::ptrdiff_t>(kept));
    ASSERT_EQ(all_records(path_), expected) << size;
    {
      RecordLogWriter writer(path_);
      ASSERT_EQ(writer.append("after the crash"), kept) << size;
    }
    expected.emplace_back("after the crash");
    ASSERT_EQ(all_records(path_), expected) << size;
  }
}

TEST_F(RecordLogTest, EveryFlippedByteEndsTheLogBeforeItsRecord) {
  std::vector<std::size_t> ends;
  {
    RecordLogWriter writer(path_);
    for (int i = 0; i < 3; ++i) {
      writer.append("record " + std::to_string(i));
      ends.push_back(fs::file_size(path_));
    }
  }
  const std::string whole = read_file(path_);
  for (std::size_t at = 24; at < whole.size(); ++at) {  // the segment's header is in another test
    for (const unsigned bit : {0x01u, 0x80u}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ bit);
      overwrite(path_, damaged);
      const auto kept = std::count_if(ends.begin(), ends.end(), [&](auto end) { return end <= at; });
      ASSERT_EQ(static_cast<std::ptrdiff_t>(all_records(path_).size()), kept) << at;
    }
  }
}

TEST_F(RecordLogTest, RecordsBeyondDamageAreCountedAndATornTailHasNone) {
  {
    RecordLogWriter writer(path_);
    for (int i = 0; i < 10; ++i) writer.append(fmt::format("record {}", i));
  }
  const std::string whole = read_file(path_);
  RecordLogReader intact(path_);
  while (intact.next()) {
  }
  EXPECT_EQ(intact.records_beyond(), 0u);
  const auto place = whole.find("record 4");
  for (const std::size_t at : {place, place - 16, place - 10, place - 5}) {  // payload, length, CRC, number
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    overwrite(path_, bytes);
    RecordLogReader reader(path_);
    while (reader.next()) {
    }
    EXPECT_EQ(reader.records_beyond(), 5u) << "byte " << at;
  }
  overwrite(path_, whole.substr(0, whole.size() - 3));
  RecordLogReader torn(path_);
  while (torn.next()) {
  }
  EXPECT_EQ(torn.records_beyond(), 0u);
}

TEST_F(RecordLogTest, AFlippedByteInTheHeaderIsAnError) {
  RecordLogWriter(path_).append("record");
  const std::string whole = read_file(path_);
  for (std::size_t at = 0; at < 24; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    overwrite(path_, damaged);
    EXPECT_THAT(error_of([&] { all_records(path_); }), HasSubstr("is not a record log")) << at;
    EXPECT_THAT(error_of([&] { RecordLogWriter writer(path_); }), HasSubstr("is not a record log")) << at;
  }
}

TEST_F(RecordLogTest, ZerosAtTheEndAreATornTail) {
  RecordLogWriter(path_).append("record");
  std::string bytes = read_file(path_);
  bytes.append(4096, '\0');  // a file system that extended the file and lost the data
  overwrite(path_, bytes);
  RecordLogReader reader(path_);
  EXPECT_TRUE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.bytes_beyond(), 4096u);
  RecordLogWriter writer(path_);
  EXPECT_EQ(writer.bytes_cut(), 4096u);
  EXPECT_EQ(writer.append("next"), 1u);
}

TEST_F(RecordLogTest, ASegmentWithATornHeaderIsBegunAgain) {
  {
    RecordLogWriter writer(path_, {.segment_bytes = 64});
    for (int i = 0; i < 4; ++i) writer.append("a record of some length");
  }
  const auto second = record_log_segment(path_, 1);
  ASSERT_TRUE(fs::exists(second));
  const auto before = all_records(path_).size();
  const auto third = record_log_segment(path_, 2);
  overwrite(third, std::string("LSRLOG", 6));
  EXPECT_EQ(all_records(path_).size(), before);
  RecordLogWriter writer(path_, {.segment_bytes = 64});
  EXPECT_EQ(writer.bytes_cut(), 6u);
  EXPECT_EQ(writer.append("more"), before);
  EXPECT_EQ(all_records(path_).size(), before + 1);
}

TEST_F(RecordLogTest, RecordsLostBetweenSegmentsAreToldByNumber) {
  {
    RecordLogWriter writer(path_, {.segment_bytes = 100});
    for (int i = 0; i < 8; ++i) writer.append("a record of some length");
  }
  std::string first = read_file(path_);
  fs::resize_file(path_, first.size() - 1);
  EXPECT_THAT(error_of([&] { all_records(path_); }),
              HasSubstr("is damaged: the records from 1 to 1 are lost"));
}

TEST_F(RecordLogTest, AFullDiskLeavesTheLogAsItWasAndLaterItGoesOn) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGXFSZ, &ignore, &before), 0);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  RecordLogWriter writer(path_, {.segment_bytes = 1000});
  std::size_t refused = 0, written = 0;
  // The limit moves through every offset of a record's header and of its payload, and of the next segment's
  // header.
  for (rlim_t allowed = 0; allowed < 2000; allowed += 7) {
    rlimit small = limit;
    small.rlim_cur = allowed % 1100;
    setrlimit(RLIMIT_FSIZE, &small);
    try {
      writer.append("record " + std::to_string(written));
      ++written;
    } catch (const Error& error) {
      EXPECT_EQ(error.number(), EFBIG);
      ++refused;
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    ASSERT_EQ(all_records(path_).size(), written);
  }
  sigaction(SIGXFSZ, &before, nullptr);
  EXPECT_GT(refused, 10u);
  EXPECT_GT(written, 10u);
  EXPECT_EQ(writer.append("at last"), written);
}

TEST_F(RecordLogTest, AKilledWriterLosesNoWholeRecord) {
  std::mt19937 random(7);
  std::uint64_t before = 0;
  for (int round = 0; round < 20; ++round) {
    Pipe told = make_pipe();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RecordLogWriter writer(path_, {.segment_bytes = 20'000});
      const std::string payload(3000, static_cast<char>('a' + round));
      for (;;) {
        const auto number = writer.append(payload);
        if (::write(told.write.get(), &number, sizeof number) != sizeof number) _exit(1);
      }
    }
    told.write.reset();
    std::uint64_t number = 0, last = before;
    for (auto i = random() % 60 + 1;
         i > 0 && ::read(told.read.get(), &number, sizeof number) == sizeof number; --i)
      last = number + 1;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    before = all_records(path_).size();
    ASSERT_GE(before, last);
  }
  RecordLogWriter writer(path_);
  EXPECT_EQ(writer.append("the end"), before);
}

TEST_F(RecordLogTest, RandomBytesNeverCrashAReader) {
  {
    RecordLogWriter writer(path_);
    for (int i = 0; i < 5; ++i) writer.append(std::string(static_cast<std::size_t>(i) * 20, 'r'));
  }
  const std::string whole = read_file(path_);
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (auto i = random() % 8 + 1; i > 0; --i) bytes[random() % bytes.size()] = static_cast<char>(random());
    overwrite(path_, bytes);
    error_of([&] { all_records(path_); });
  }
}

TEST(Crc32cTest, HasTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32cTest, TableAndInstructionAgreeOnEveryLengthAndSplit) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(i * 37));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto part = std::string_view(bytes).substr(0, size);
    EXPECT_EQ(crc32c(part), detail::crc32c_by_table(part));
    EXPECT_EQ(crc32c(part.substr(size / 3), crc32c(part.substr(0, size / 3))), crc32c(part));
  }
}

}  // namespace
}  // namespace longship
