// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>

namespace longship {
namespace {

TEST(ErrorTest, ChainReadsFromTheOutsideIn) {
  try {
    within("cannot start job gan3d", [] {
      within("image hpc-torch", [] { throw Error("layer {} of {}: digest does not match", 3, 7); });
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot start job gan3d: image hpc-torch: layer 3 of 7: digest does not match");
  }
}

TEST(ErrorTest, KindSurvivesTheChain) {
  try {
    within("outer", [] { throw Error(Failure::impossible, "no user namespaces"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.failure(), Failure::impossible);
  }
}

TEST(ErrorTest, ErrnoKeepsItsTextAndNumber) {
  const auto error = Error::from_errno(ENOENT, "cannot open {}", "/x");
  EXPECT_STREQ(error.what(), "cannot open /x: No such file or directory");
  EXPECT_EQ(error.number(), ENOENT);
}

TEST(ErrorTest, ForeignExceptionsBecomeErrors) {
  try {
    within("reading", []() -> int { throw std::runtime_error("boom"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "reading: boom");
  }
}

TEST(ErrorTest, TheFileSystemsExceptionsBecomeSentencesWithTheirNumber) {
  try {
    within("keeping", [] { std::filesystem::create_directories("/proc/version/x"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("keeping: cannot create director"));
    EXPECT_THAT(error.what(), testing::EndsWith("/proc/version/x: Not a directory"));
    EXPECT_EQ(error.number(), ENOTDIR);
  }
  using std::filesystem::filesystem_error;
  const auto code = std::make_error_code(std::errc::permission_denied);
  EXPECT_STREQ(Error::of(filesystem_error("status", "/a\nb", code)).what(),
               "cannot look at /a\\nb: Permission denied");
  EXPECT_STREQ(Error::of(filesystem_error("cannot rename", "/a", "/b", code)).what(),
               "cannot rename /a to /b: Permission denied");
}

TEST(ErrorTest, AnErrorStaysWhatItIs) {
  EXPECT_STREQ(Error::of(std::bad_alloc()).what(), "out of memory");
  const auto error = Error::of(Error(Failure::impossible, "not here"));
  EXPECT_EQ(error.failure(), Failure::impossible);
  EXPECT_STREQ(error.what(), "not here");
}

TEST(ErrorTest, WithinHandsTheResultOn) {
  EXPECT_EQ(within("adding", [] { return 1 + 1; }), 2);
}

}  // namespace
}  // namespace longship
