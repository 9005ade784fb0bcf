// SPDX-License-Identifier: Apache-2.0
#include "study/domain.h"

#include <gtest/gtest.h>

#include <limits>

#include "expect.h"

namespace longship::study {
namespace {

TEST(DomainTest, WhatCannotBeDrawnFromIsAnError) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Domain, const char*>> cases{
      {real(1, 0), "parameter \"x\": it begins at 1 and ends at 0, below that"},
      {real(0, nan), "parameter \"x\": its ends have to be finite numbers"},
      {real(0, 1, true), "parameter \"x\": a logarithmic one has to begin above 0, not at 0"},
      {real(1, 2, true, 0.5), "parameter \"x\": it can be logarithmic or have steps, not both"},
      {real(0, 1, false, -1), "parameter \"x\": -1 is no step"},
      {integer(0, 1.5), "parameter \"x\": 1.5 is no integer"},
      {integer(1, 9, true, 2), "parameter \"x\": it can be logarithmic or have steps, not both"},
      {category({}), "parameter \"x\" has nothing to choose from"},
      {category({"a", "b", "a"}), "parameter \"x\" has the choice a twice"},
  };
  for (const auto& [domain, complaint] : cases)
    EXPECT_EQ(message_of([&] { (void)checked("x", domain); }), complaint);
  EXPECT_EQ(message_of([&] { (void)checked("", real(0, 1)); }), "a parameter needs a name");
}

TEST(DomainTest, LastStepIsTheUpperEnd) {
  EXPECT_DOUBLE_EQ(checked("x", real(0, 1, false, 0.3)).high, 0.9);
  EXPECT_DOUBLE_EQ(checked("x", real(0, 0.3, false, 0.1)).high, 0.3);  // which is not 3 * 0.1
  EXPECT_EQ(checked("x", integer(1, 10, false, 4)).high, 9);
}

TEST(DomainTest, ContainsItsStepsOnly) {
  const auto domain = checked("x", real(0, 1, false, 0.1));
  EXPECT_TRUE(contains(domain, 0.1 * 3));
  EXPECT_FALSE(contains(domain, 0.25));
  EXPECT_FALSE(contains(domain, 1.1));
  EXPECT_FALSE(contains(real(0, 1), std::numeric_limits<double>::quiet_NaN()));
}

TEST(DomainTest, CountsItsValues) {
  EXPECT_EQ(count(real(0, 1)), 0);
  EXPECT_EQ(count(real(1, 1)), 1);
  EXPECT_EQ(count(checked("x", real(0, 1, false, 0.1))), 11);
  EXPECT_EQ(count(integer(3, 7)), 5);
  EXPECT_EQ(count(category({"a", "b"})), 2);
}

TEST(AxisTest, ValuesComeBackFromTheirPositions) {
  for (const auto& domain : {real(-2, 5), real(1e-5, 10, true), integer(-3, 8), integer(1, 1000, true),
                             real(0, 1, false, 0.25), category({"a", "b", "c"})}) {
    const Axis axis(domain);
    for (std::size_t i = 0; i <= 20; ++i) {
      const double value = axis.value(static_cast<double>(i) / 20);
      EXPECT_TRUE(contains(domain, value)) << text_of(domain) << ": " << value;
      EXPECT_NEAR(axis.value(axis.position(value)), value, 1e-9 * (1 + std::abs(value)));
    }
  }
}

TEST(AxisTest, EndsOfSteppedOnesAreAsLikelyAsTheRest) {
  const Axis axis(integer(0, 3));
  EXPECT_EQ(axis.value(0.24), 0);
  EXPECT_EQ(axis.value(0.26), 1);
  EXPECT_EQ(axis.value(0.76), 3);
  EXPECT_DOUBLE_EQ(axis.cell_end(0) - axis.cell_begin(0), 0.25);
}

}  // namespace
}  // namespace longship::study
