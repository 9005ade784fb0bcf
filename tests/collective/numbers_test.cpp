// SPDX-License-Identifier: Apache-2.0
#include "collective/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "collective/reduce.h"

namespace longship::collective {
namespace {

TEST(NumbersTest, ScaleRoundsIntegersTowardsZero) {
  std::vector<std::int32_t> whole = {7, -7, 0};
  scale(Type::i32, whole.data(), whole.size(), 0.5);
  EXPECT_EQ(whole, (std::vector<std::int32_t>{3, -3, 0}));
  std::vector<std::uint16_t> half = {detail::to_half(3.0f)};
  scale(Type::f16, half.data(), 1, 0.5);
  EXPECT_EQ(detail::from_half(half[0]), 1.5f);
  std::vector<std::uint8_t> boolean = {1, 0};
  scale(Type::boolean, boolean.data(), 2, 7);
  EXPECT_EQ(boolean, (std::vector<std::uint8_t>{1, 0}));
}

template <class T>
T neutral(Type type, Op op) {
  T value{};
  fill_neutral(type, op, &value, 1);
  return value;
}

TEST(NumbersTest, NeutralChangesNothing) {
  EXPECT_EQ(neutral<float>(Type::f32, Op::sum), 0.0f);
  EXPECT_EQ(neutral<float>(Type::f32, Op::product), 1.0f);
  EXPECT_EQ(neutral<double>(Type::f64, Op::min), std::numeric_limits<double>::infinity());
  EXPECT_EQ(neutral<double>(Type::f64, Op::max), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(neutral<std::int8_t>(Type::i8, Op::max), -128);
  EXPECT_EQ(neutral<std::int64_t>(Type::i64, Op::min), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(detail::from_half(neutral<std::uint16_t>(Type::f16, Op::min)),
            std::numeric_limits<float>::infinity());
}

TEST(NumbersTest, EveryNanOfASmallTensorIsCounted) {
  std::vector<float> values(100, 1.0f);
  EXPECT_EQ(count_nan(Type::f32, values.data(), values.size()), 0u);
  values[3] = values[99] = std::nanf("");
  EXPECT_EQ(count_nan(Type::f32, values.data(), values.size()), 2u);
  const std::vector<std::uint16_t> half = {detail::to_half(std::nanf("")), 0};
  EXPECT_EQ(count_nan(Type::f16, half.data(), 2), 1u);
  EXPECT_EQ(count_nan(Type::i32, values.data(), values.size()), 0u);
}

TEST(NumbersTest, ALargeTensorIsSampledFromEndToEnd) {
  std::vector<double> values(1'000'003, std::nan(""));
  EXPECT_GT(count_nan(Type::f64, values.data(), values.size()), 0u);
  std::fill(values.begin(), values.end(), 1.0);
  EXPECT_EQ(count_nan(Type::f64, values.data(), values.size()), 0u);
  values.front() = std::nan("");
  EXPECT_EQ(count_nan(Type::f64, values.data(), values.size()), 1u);
}

}  // namespace
}  // namespace longship::collective
