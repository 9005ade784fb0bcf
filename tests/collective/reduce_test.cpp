// SPDX-License-Identifier: Apache-2.0
#include "collective/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace longship::collective {
namespace {

template <class T>
std::vector<T> combined(Type type, Op op, std::vector<T> a, const std::vector<T>& b) {
  combine(type, op, a.data(), a.data(), b.data(), a.size());
  return a;
}

std::vector<std::byte> combined(Type type, Op op, std::vector<std::byte> a, const std::vector<std::byte>& b,
                                std::size_t count) {
  combine(type, op, a.data(), a.data(), b.data(), count);
  return a;
}

TEST(ReduceTest, EveryOperationOnIntegers) {
  const std::vector<std::int32_t> a = {1, -5, 7}, b = {2, 3, -7};
  EXPECT_EQ(combined(Type::i32, Op::sum, a, b), (std::vector<std::int32_t>{3, -2, 0}));
  EXPECT_EQ(combined(Type::i32, Op::average, a, b), (std::vector<std::int32_t>{3, -2, 0}));
  EXPECT_EQ(combined(Type::i32, Op::min, a, b), (std::vector<std::int32_t>{1, -5, -7}));
  EXPECT_EQ(combined(Type::i32, Op::max, a, b), (std::vector<std::int32_t>{2, 3, 7}));
  EXPECT_EQ(combined(Type::i32, Op::product, a, b), (std::vector<std::int32_t>{2, -15, -49}));
}

TEST(ReduceTest, IntegersWrap) {
  EXPECT_EQ(combined<std::int32_t>(Type::i32, Op::sum, {INT32_MAX}, {1}).front(), INT32_MIN);
  EXPECT_EQ(combined<std::int64_t>(Type::i64, Op::product, {INT64_MAX}, {2}).front(), -2);
  EXPECT_EQ(combined<std::uint8_t>(Type::u8, Op::sum, {250}, {10}).front(), 4);
  EXPECT_EQ(combined<std::int8_t>(Type::i8, Op::sum, {127}, {1}).front(), -128);
}

TEST(ReduceTest, NotANumberIsPassedOnFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int op = 0; op < element_wise_ops; ++op) {
    EXPECT_TRUE(std::isnan(combined<float>(Type::f32, static_cast<Op>(op), {nan}, {1}).front())) << op;
    EXPECT_TRUE(std::isnan(combined<float>(Type::f32, static_cast<Op>(op), {1}, {nan}).front())) << op;
  }
}

// Bits of every kind, so that rounding, wrapping and NaN come up.
std::vector<std::byte> random_bytes(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(length);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Which of two NaN is passed on is the processor's choice.
bool same_values(Type type, const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  for (std::size_t at = 0; at < a.size(); at += size_of(type)) {
    if (std::memcmp(&a[at], &b[at], size_of(type)) == 0) continue;
    const auto is_nan = [&](const std::vector<std::byte>& values) {
      float f = 0;
      double d = 0;
      std::uint16_t bits = 0;
      std::memcpy(&bits, &values[at], sizeof bits);
      if (type == Type::f32) std::memcpy(&f, &values[at], sizeof f);
      if (type == Type::f64) std::memcpy(&d, &values[at], sizeof d);
      if (type == Type::f16) f = detail::from_half(bits);
      if (type == Type::bf16) f = detail::from_bfloat(bits);
      return std::isnan(f) || std::isnan(d);
    };
    if (!is_nan(a) || !is_nan(b)) return false;
  }
  return true;
}

TEST(ReduceTest, EveryInstructionSetGivesTheSameValues) {
  const Instructions best = instructions();
  constexpr std::size_t count = 1003;
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < op_count; ++o) {
      const auto type = static_cast<Type>(t);
      const auto op = static_cast<Op>(o);
      const auto a = random_bytes(count * size_of(type), 1), b = random_bytes(count * size_of(type), 2);
      use_at_most(Instructions::portable);
      const auto expected = combined(type, op, a, b, count);
      for (const auto most : {Instructions::avx2, Instructions::avx512}) {
        use_at_most(most);
        EXPECT_TRUE(same_values(type, combined(type, op, a, b, count), expected))
            << name_of(type) << " " << name_of(op) << " " << static_cast<int>(instructions());
        auto left = a, right = b;
        const std::byte* const inputs[] = {left.data(), right.data()};
        std::byte* const outputs[] = {left.data(), right.data()};
        combine_all(type, op == Op::average ? Op::sum : op, inputs, outputs, count);
        EXPECT_TRUE(same_values(type, left, expected)) << name_of(type) << " " << name_of(op);
        EXPECT_EQ(left, right);
      }
      use_at_most(best);
    }
}

TEST(ReduceTest, AnAverageIsASumThatIsDividedWhateverTheInstructions) {
  const Instructions best = instructions();
  constexpr std::size_t count = 1003;
  for (const auto most : {Instructions::portable, Instructions::avx2, Instructions::avx512})
    for (int t = 0; t < type_count; ++t) {
      use_at_most(most);
      const auto type = static_cast<Type>(t);
      if (type == Type::boolean) continue;
      const auto a = random_bytes(count * size_of(type), 1), b = random_bytes(count * size_of(type), 2);
      auto expected = combined(type, Op::sum, a, b, count);
      divide(type, expected.data(), count, 2);
      auto left = a, right = b;
      const std::byte* const inputs[] = {left.data(), right.data()};
      std::byte* const outputs[] = {left.data(), right.data()};
      const bool found = combine_all(type, Op::average, inputs, outputs, count);
      EXPECT_TRUE(same_values(type, left, expected)) << name_of(type) << " " << static_cast<int>(most);
      EXPECT_EQ(left, right);
      EXPECT_EQ(found, contains_nan(type, left.data(), count)) << name_of(type);
    }
  use_at_most(best);
}

TEST(ReduceTest, ADivisionIsExactForEveryDivisor) {
  std::vector<float> values(100);
  for (const int divisor : {1, 2, 3, 4, 5, 7, 64, 1000, 1024}) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1F * static_cast<float>(i);
    divide(Type::f32, values.data(), values.size(), divisor);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], 0.1F * static_cast<float>(i) / static_cast<float>(divisor)) << divisor;
  }
}

TEST(ReduceTest, ManyInputsGoToManyOutputsInOnePass) {
  constexpr std::size_t count = 5000;
  std::vector<std::vector<float>> values;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (int rank = 0; rank < 5; ++rank) {
    auto& one = values.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i)
      one[i] = static_cast<float>(i % 97) * static_cast<float>(rank + 1);
  }
  for (auto& one : values) {
    inputs.push_back(reinterpret_cast<std::byte*>(one.data()));
    outputs.push_back(reinterpret_cast<std::byte*>(one.data()));
  }
  combine_all(Type::f32, Op::average, inputs, outputs, count);
  for (const auto& one : values)
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(one[i], static_cast<float>(i % 97) * 3) << i;
}

TEST(ReduceTest, ANanIsSeenWhileItIsMade) {
  const Instructions best = instructions();
  for (const auto most : {Instructions::portable, Instructions::avx2, Instructions::avx512})
    for (const std::size_t ranks : {1u, 2u, 3u})
      for (const Op op : {Op::sum, Op::average, Op::min, Op::max, Op::product})
        for (const std::size_t at : {0u, 7u, 2999u, 3002u}) {
          use_at_most(most);
          std::vector<std::vector<std::uint16_t>> halves(ranks, std::vector<std::uint16_t>(3003, 0x3c00));
          std::vector<std::vector<double>> doubles(ranks, std::vector<double>(3003, 1.0));
          const auto reduced = [&](Type type, auto& values) {
            std::vector<std::byte*> all;
            for (auto& one : values) all.push_back(reinterpret_cast<std::byte*>(one.data()));
            return combine_all(type, op, std::vector<const std::byte*>(all.begin(), all.end()), all, 3003);
          };
          EXPECT_FALSE(reduced(Type::f16, halves));
          EXPECT_FALSE(reduced(Type::bf16, halves));
          EXPECT_FALSE(reduced(Type::f64, doubles));
          EXPECT_FALSE(reduced(Type::i64, doubles));
          halves.back().assign(3003, 0x3c00);
          halves.back()[at] = 0x7fc1;  // of either kind
          doubles.back()[at] = std::nan("");
          EXPECT_TRUE(reduced(Type::f16, halves)) << name_of(op);
          halves.back().assign(3003, 0x3c00);
          halves.back()[at] = 0x7fc1;
          EXPECT_TRUE(reduced(Type::bf16, halves)) << name_of(op);
          EXPECT_TRUE(reduced(Type::f64, doubles)) << name_of(op);
        }
  use_at_most(best);
}

TEST(ReduceTest, ANanIsFoundWhereverItIs) {
  std::vector<float> values(3000, 1.0f);
  values[5] = std::numeric_limits<float>::infinity();
  for (const auto most : {Instructions::avx512, Instructions::portable}) {
    use_at_most(most);
    EXPECT_FALSE(contains_nan(Type::f32, values.data(), values.size()));
    for (const std::size_t at : {0u, 1023u, 1024u, 2999u}) {
      auto spoiled = values;
      spoiled[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(contains_nan(Type::f32, spoiled.data(), spoiled.size())) << at;
    }
  }
  use_at_most(Instructions::avx512);
  const std::vector<std::uint16_t> halves = {0x3c00, 0x7e00};
  EXPECT_TRUE(contains_nan(Type::f16, halves.data(), halves.size()));
  EXPECT_FALSE(contains_nan(Type::i32, halves.data(), 1));
}

TEST(ReduceTest, DivideMakesAnAverage) {
  std::vector<double> values = {3, 4.5};
  divide(Type::f64, values.data(), values.size(), 3);
  EXPECT_EQ(values, (std::vector<double>{1, 1.5}));
  std::vector<std::int8_t> small = {-7, 7};
  divide(Type::i8, small.data(), small.size(), 2);
  EXPECT_EQ(small, (std::vector<std::int8_t>{-3, 3}));
}

TEST(HalfTest, EveryHalfSurvivesTheWayThereAndBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = detail::from_half(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(detail::to_half(value), half) << bits;
  }
}

TEST(HalfTest, KnownValuesAndRounding) {
  EXPECT_EQ(detail::from_half(0x3c00), 1.0f);
  EXPECT_EQ(detail::from_half(0x0001), 0x1p-24f);
  EXPECT_EQ(detail::to_half(65504.0f), 0x7bff);
  EXPECT_EQ(detail::to_half(65520.0f), 0x7c00);
  EXPECT_EQ(detail::to_half(65519.0f), 0x7bff);
  EXPECT_EQ(detail::to_half(1.0f + 0x1p-11f), 0x3c00);      // a tie goes to the even one
  EXPECT_EQ(detail::to_half(1.0f + 3 * 0x1p-11f), 0x3c02);  // and here upwards
  EXPECT_EQ(detail::to_half(0x1p-25f), 0x0000);
  EXPECT_EQ(detail::to_half(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(detail::from_half(detail::to_half(std::nanf("")))));
}

TEST(BfloatTest, EveryBfloatSurvivesAndTiesGoToEven) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto value = detail::from_bfloat(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(detail::to_bfloat(value), bits);
  }
  EXPECT_EQ(detail::to_bfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_TRUE(std::isnan(detail::from_bfloat(detail::to_bfloat(std::nanf("")))));
}

}  // namespace
}  // namespace longship::collective
