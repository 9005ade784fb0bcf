// SPDX-License-Identifier: Apache-2.0
#include "image/read_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace longship::image {
namespace {

using testing::StrEq;

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

// Gives its bytes in pieces of odd sizes, and fails at the end if it should.
class Uneven final : public ByteSource {
 public:
  explicit Uneven(std::string bytes, std::string problem = {})
      : bytes_(std::move(bytes)), problem_(std::move(problem)), left_(bytes_) {}
  std::size_t read(char* into, std::size_t size) override {
    if (left_.empty() && !problem_.empty()) throw Error("{}", problem_);
    const std::size_t count = std::min({size, left_.size(), 1 + reads_++ * 7919 % 100'000});
    left_.copy(into, count);
    left_.remove_prefix(count);
    return count;
  }

 private:
  std::string bytes_, problem_;
  std::string_view left_;
  std::size_t reads_ = 0;
};

// Sizes around that of a piece and of the whole ring.
constexpr std::size_t piece = ReadAhead::piece_size, ring = ReadAhead::pieces * piece;
class ReadAheadOfSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ReadAheadOfSize,
                         testing::Values(0, 1, 511, piece - 1, piece, piece + 1, ring, ring + 1,
                                         2 * ring + 17));

TEST_P(ReadAheadOfSize, EveryByteArrivesInOrderAtTheReaderAndAtTheWatcher) {
  const std::string bytes = pattern(GetParam());
  Uneven source(bytes);
  std::string seen, read;
  ReadAhead ahead(source, [&](std::string_view some) { seen += some; });
  std::string room(10'000, '\0');
  bool by_copy = false;
  for (;; by_copy = !by_copy) {
    const auto some =
        by_copy ? std::string_view(room.data(), ahead.read(room.data(), room.size())) : ahead.take(room);
    if (some.empty()) break;
    read += some;
  }
  ahead.finish();
  EXPECT_TRUE(read == bytes);
  EXPECT_TRUE(seen == bytes);
}

TEST_P(ReadAheadOfSize, WhatTheSourceThrowsComesAfterWhatItGave) {
  const std::string bytes = pattern(GetParam());
  Uneven source(bytes, "the disk is gone");
  ReadAhead ahead(source);
  std::string room(100'000, '\0'), read;
  try {
    for (;;) read += ahead.take(room);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StrEq("the disk is gone"));
  }
  EXPECT_TRUE(read == bytes);
}

TEST(ReadAheadTest, WhoLosesInterestNeedNotReadToTheEnd) {
  Uneven source(pattern(2 * ring));
  std::size_t seen = 0;
  {
    ReadAhead ahead(source, [&](std::string_view some) { seen += some.size(); });
    char one = 0;
    EXPECT_EQ(ahead.read(&one, 1), 1u);
  }
  EXPECT_LE(seen, ring + piece);  // no more than the ring holds, and the piece being read
}

TEST(ReadAheadTest, WhatTheWatcherThrowsIsThrownAtTheEnd) {
  const std::string bytes = pattern(2 * ring);
  Uneven source(bytes);
  ReadAhead ahead(source, [](std::string_view) { throw Error("no digest today"); });
  std::string room(piece, '\0'), read;
  for (auto some = ahead.take(room); !some.empty(); some = ahead.take(room)) read += some;
  EXPECT_TRUE(read == bytes);
  EXPECT_THROW(ahead.finish(), Error);
}

}  // namespace
}  // namespace longship::image
