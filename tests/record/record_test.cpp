// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <map>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/record_log.h"
#include "record/encoding.h"
#include "record/reader.h"
#include "record/writer.h"

namespace longship::record {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Instant at(std::int64_t nanoseconds) {
  return Instant(std::chrono::duration_cast<Instant::duration>(std::chrono::nanoseconds(nanoseconds)));
}

using Values = std::vector<std::pair<std::string_view, double>>;

class RecordTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Writer> open(int rank = 0, int size = 1) {
    std::string problem;
    auto writer = Writer::open(directory_.path(),
                               {.rank = rank, .size = size, .local_rank = rank, .node = "node-a"}, &problem);
    EXPECT_TRUE(writer) << problem;
    return writer;
  }
  [[nodiscard]] Log read(int rank = 0) const { return read_log(log_path(directory_.path(), rank)); }

  TemporaryDirectory directory_;
};

TEST_F(RecordTest, EverythingComesBackAsItWasRecorded) {
  auto writer = open(3, 8);
  writer->clock_offset(std::chrono::nanoseconds(-12'345));
  writer->span(Activity::input, "next batch", at(1'000), at(2'500));
  writer->span(Activity::checkpoint, "save", at(900), at(900));  // before the last one, and empty
  writer->collective(7, "gradients", 4096, at(3'000), at(3'100), at(3'900));
  writer->collective(6, "gradients", 1u << 31, at(4'000), at(4'000), at(4'001));
  writer->metrics(12, 30, Values{{"loss", 0.25}, {"samples/s", 4180}});
  writer.reset();

  const Log log = read(3);
  EXPECT_EQ(log.rank, 3);
  EXPECT_EQ(log.size, 8);
  EXPECT_EQ(log.local_rank, 3);
  EXPECT_EQ(log.node, "node-a");
  EXPECT_EQ(log.clock_offset, -12'345);
  EXPECT_EQ(log.problem, "");
  EXPECT_THAT(log.names, ElementsAre("next batch", "save", "gradients", "loss", "samples/s"));
  ASSERT_EQ(log.spans.size(), 2u);
  EXPECT_EQ(log.spans[0].activity, Activity::input);
  EXPECT_EQ(log.spans[0].begin, 1'000);
  EXPECT_EQ(log.spans[0].end, 2'500);
  EXPECT_EQ(log.spans[1].begin, 900);
  EXPECT_EQ(log.spans[1].end, 900);
  ASSERT_EQ(log.collectives.size(), 2u);
  EXPECT_EQ(log.collectives[0].sequence, 7u);
  EXPECT_EQ(log.collectives[0].bytes, 4096u);
  EXPECT_EQ(log.collectives[0].arrived, 3'000);
  EXPECT_EQ(log.collectives[0].begin, 3'100);
  EXPECT_EQ(log.collectives[0].end, 3'900);
  EXPECT_EQ(log.collectives[1].sequence, 6u);
  EXPECT_EQ(log.collectives[1].bytes, 1u << 31);
  ASSERT_EQ(log.metrics.size(), 1u);
  EXPECT_EQ(log.metrics[0].step, 12u);
  EXPECT_EQ(log.metrics[0].steps, 30u);
  EXPECT_THAT(log.metrics[0].values, ElementsAre(Pair(3, 0.25), Pair(4, 4180)));
}

TEST_F(RecordTest, TimesThatMakeNoSenseAreMadeToFit) {
  auto writer = open();
  writer->span(Activity::other, "backwards", at(500), at(100));
  writer->span(Activity::other, "extreme", at(std::numeric_limits<std::int64_t>::min()),
               at(std::numeric_limits<std::int64_t>::max()));
  writer->collective(0, "early", 1, at(500), at(400), at(300));
  writer.reset();
  const Log log = read();
  EXPECT_EQ(log.spans[0].end, 500);
  EXPECT_EQ(log.spans[1].begin, -largest_time);
  EXPECT_EQ(log.spans[1].end, largest_time);
  EXPECT_EQ(log.collectives[0].begin, 500);
  EXPECT_EQ(log.collectives[0].end, 500);
}

TEST_F(RecordTest, ManyBlocksOfManySpansComeBack) {
  constexpr int count = 100'000;
  auto writer = open();
  std::int64_t time = 0;
  for (int i = 0; i < count; ++i) {
    writer->span(i % 2 == 0 ? Activity::input : Activity::communication, i % 2 == 0 ? "batch" : "wait",
                 at(time), at(time + 40'000));
    time += 1'000'000;
  }
  writer.reset();
  const Log log = read();
  ASSERT_EQ(log.spans.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(log.spans.back().begin, time - 1'000'000);
  EXPECT_EQ(log.lost, 0u);
  const auto bytes = std::filesystem::file_size(log_path(directory_.path(), 0));
  EXPECT_LT(bytes / count, 10u);
}

TEST_F(RecordTest, ThreadsGetLanesOfTheirOwn) {
  constexpr int threads = 4, each = 20'000;
  auto writer = open();
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&writer, t] {
      const std::string name = "thread " + std::to_string(t);
      for (int i = 0; i < each; ++i) writer->span(Activity::compute, name, at(i * 100), at(i * 100 + 50));
    });
  for (int i = 0; i < each; ++i) writer->span(Activity::input, "main", at(i * 100), at(i * 100 + 50));
  for (auto& thread : all) thread.join();
  writer.reset();

  const Log log = read();
  std::map<std::uint32_t, std::string> name_of_lane;
  std::map<std::uint32_t, std::uint64_t> spans_of_lane;
  for (const auto& span : log.spans) {
    EXPECT_EQ(name_of_lane.emplace(span.lane, log.names[span.name]).first->second, log.names[span.name]);
    ++spans_of_lane[span.lane];
  }
  EXPECT_EQ(spans_of_lane.size(), threads + 1u);
  EXPECT_EQ(name_of_lane[0], "main");
  EXPECT_EQ(log.spans.size() + log.lost, (threads + 1u) * each);
}

TEST_F(RecordTest, AFollowerSeesMetricsWhileTheyAreWritten) {
  Follower follower(log_path(directory_.path(), 0));
  EXPECT_FALSE(follower.poll());  // not even there
  auto writer = open();
  EXPECT_FALSE(follower.poll());
  writer->metrics(1, 30, Values{{"loss", 2.5}});
  writer->flush();
  auto seen = follower.poll();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 1u);
  EXPECT_EQ(seen->steps, 30u);
  EXPECT_THAT(seen->values, ElementsAre(Pair("loss", 2.5)));
  EXPECT_FALSE(follower.poll());
  writer->metrics(2, 30, Values{{"loss", 1.5}});
  writer->metrics(3, 30, Values{{"loss", 0.5}});
  writer->flush();
  seen = follower.poll();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 3u);
}

TEST_F(RecordTest, MetricsAreFlushedByALaterSpan) {
  Follower follower(log_path(directory_.path(), 0));
  auto writer = open();
  writer->metrics(1, 2, Values{{"loss", 2.5}});
  const auto later = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  writer->span(Activity::input, "batch", later, later);
  ASSERT_TRUE(follower.poll());
}

TEST_F(RecordTest, AProcessThatComesBackBeginsAnew) {
  auto writer = open();
  writer->span(Activity::input, "first life", at(0), at(1));
  writer.reset();
  writer = open();
  writer->span(Activity::input, "second life", at(0), at(1));
  writer.reset();
  const Log log = read();
  EXPECT_EQ(log.earlier, 1u);
  EXPECT_THAT(log.names, ElementsAre("second life"));
  EXPECT_EQ(log.spans.size(), 1u);
}

TEST_F(RecordTest, NamesAreBoundedInLengthAndNumber) {
  auto writer = open();
  writer->span(Activity::other, std::string(5000, 'n'), at(0), at(1));
  for (std::size_t i = 0; i < most_names + 10; ++i)
    writer->span(Activity::other, std::to_string(i), at(0), at(1));
  writer.reset();
  const Log log = read();
  EXPECT_EQ(log.names.size(), most_names);
  EXPECT_EQ(log.names.front().size(), largest_name);
  EXPECT_EQ(log.names.back(), "(further names)");
  EXPECT_EQ(log.names[log.spans.back().name], "(further names)");
}

TEST_F(RecordTest, MoreValuesThanFitAreLeftOut) {
  Values values(500, {"value", std::nan("")});
  auto writer = open();
  writer->metrics(1, 1, values);
  writer.reset();
  EXPECT_EQ(read().metrics.at(0).values.size(), most_values);
}

TEST_F(RecordTest, ADirectoryThatCannotBeMadeIsToldAndNotThrown) {
  std::string problem;
  EXPECT_FALSE(Writer::open("/proc/no/such/place", {}, &problem));
  EXPECT_THAT(problem, HasSubstr("/proc/no/such/place"));
  EXPECT_FALSE(Writer::open("/proc/no/such/place", {}));
}

TEST_F(RecordTest, AFullDiskEndsTheLogAndNothingElse) {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &before);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  auto writer = open();
  rlimit small = limit;
  small.rlim_cur = 200'000;
  setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 100'000; ++i) writer->span(Activity::input, "batch", at(i * 1000), at(i * 1000 + 10));
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 100'000; ++i) writer->span(Activity::input, "later", at(i * 1000), at(i * 1000 + 10));
  writer.reset();
  sigaction(SIGXFSZ, &before, nullptr);
  const Log log = read();
  EXPECT_GT(log.spans.size(), 10'000u);
  EXPECT_THAT(log.names, ElementsAre("batch"));
  EXPECT_EQ(log.problem, "");
}

TEST_F(RecordTest, AForkedChildDoesNotWriteToItsParentsLog) {
  auto writer = open();
  writer->span(Activity::input, "parent", at(0), at(1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    writer->span(Activity::input, "child", at(0), at(1));
    writer.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  writer->span(Activity::input, "parent", at(2), at(3));
  writer.reset();
  EXPECT_THAT(read().names, ElementsAre("parent"));
  EXPECT_EQ(read().spans.size(), 2u);
}

TEST_F(RecordTest, ATornEndIsToldAndWhatIsBeforeIsRead) {
  auto writer = open();
  writer->span(Activity::input, "batch", at(0), at(1));
  writer->flush();
  writer->span(Activity::input, "batch", at(2), at(3));
  writer.reset();
  const auto path = log_path(directory_.path(), 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Log log = read();
  EXPECT_EQ(log.spans.size(), 1u);
  EXPECT_EQ(log.problem, "its last block was cut off");
}

TEST_F(RecordTest, AnEmptyOrAbsentLogIsAnError) {
  const auto path = log_path(directory_.path(), 0);
  EXPECT_THROW((void)read_log(path), Error);
  RecordLogWriter(path).append("\x07garbage");
  try {
    (void)read_log(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("version 7"));
  }
}

struct BadBlock {
  const char* what;
  std::string bytes;
  const char* error;
};

TEST(DecodeTest, EachKindOfBadBlockIsNamed) {
  const std::string start("\x01\x00", 2);
  const auto too_far = std::string("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
  const BadBlock blocks[] = {
      {"nothing", "", "a block is empty"},
      {"version", "\x02", "version 2"},
      {"no time", "\x01", "in the middle"},
      {"long number", std::string("\x01") + std::string(12, '\xff'), "too long"},
      {"time", too_far, "out of range"},
      {"kind", start + "\x07", "unknown kind 7"},
      {"activity", start + "\x0e", "unknown activity 6"},
      {"name not given", start + std::string("\x08\x00\x00\x00", 4), "never given"},
      {"name too long", start + "\x01\xff\x7f", "too large"},
      {"name cut off",
       start + "\x01\x05"
               "ab",
       "in the middle"},
      {"lane", start + "\x02\xff\x7f", "too large"},
      {"values", start + std::string("\x05\x00\x01\x01\x7f", 5), "too large"},
      {"duration", start + std::string("\x01\x01n\x08\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 15),
       "out of range"},
  };
  for (const auto& block : blocks) {
    Log log;
    try {
      decode(block.bytes, log);
      ADD_FAILURE() << block.what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(block.error)) << block.what;
    }
  }
}

// A simple fuzzer: good blocks with bytes changed, removed and doubled. The sanitizers watch.
TEST_F(RecordTest, MutatedBlocksGiveErrorsAndNothingWorse) {
  auto writer = open();
  for (int i = 0; i < 40; ++i) {
    writer->span(Activity::input, "span", at(i * 1'000'000), at(i * 1'000'000 + 5'000));
    writer->collective(static_cast<std::uint64_t>(i), "collective", 1u << i % 30, at(i), at(i + 1),
                       at(i + 2));
    writer->metrics(static_cast<std::uint64_t>(i), 40, Values{{"loss", 1.0 / (i + 1)}});
    writer->clock_offset(std::chrono::nanoseconds(i));
  }
  writer.reset();
  std::vector<std::string> blocks;
  RecordLogReader reader(log_path(directory_.path(), 0));
  while (const auto record = reader.next()) blocks.emplace_back(record->payload);

  std::mt19937_64 random(42);
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    Log log;
    try {
      for (auto bytes : blocks) {
        for (auto changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
          const auto where = random() % bytes.size();
          switch (random() % 3) {
            case 0:
              bytes[where] = static_cast<char>(random());
              break;
            case 1:
              bytes.erase(where, random() % 8);
              break;
            default:
              bytes.insert(where, bytes.substr(where, random() % 16));
              break;
          }
        }
        decode(bytes, log);
      }
    } catch (const Error&) {
      ++refused;
    }
    for (const auto& span : log.spans) ASSERT_LE(span.begin, span.end);
  }
  EXPECT_GT(refused, 1'000u);
}

}  // namespace
}  // namespace longship::record
