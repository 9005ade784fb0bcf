// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
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

TEST(ErrorTest, WithinHandsTheResultOn) {
  EXPECT_EQ(within("adding", [] { return 1 + 1; }), 2);
}

}  // namespace
}  // namespace longship
