// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace longship::collective {
namespace {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

// Values are computed in their own type, except the 16-bit floats (in f32) and the integers, whose unsigned
// counterparts wrap without undefined behaviour.
template <class T>
auto load(T value) {
  return value;
}
auto load(Half value) {
  return detail::from_half(value.bits);
}
auto load(Bfloat value) {
  return detail::from_bfloat(value.bits);
}

template <class T, class V>
T store(V value) {
  if constexpr (std::is_same_v<T, Half>)
    return {detail::to_half(value)};
  else if constexpr (std::is_same_v<T, Bfloat>)
    return {detail::to_bfloat(value)};
  else
    return static_cast<T>(value);
}

// Narrow types are promoted to int before they are multiplied: unsigned int, so that i8 and u8 wrap as well.
template <class T>
auto wrapping(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::common_type_t<std::make_unsigned_t<T>, unsigned>>(value);
  else
    return value;
}

struct Sum {
  template <class V>
  auto operator()(V a, V b) const {
    return wrapping(a) + wrapping(b);
  }
};
struct Product {
  template <class V>
  auto operator()(V a, V b) const {
    return wrapping(a) * wrapping(b);
  }
};
// Written so that a NaN on either side is passed on.
struct Min {
  template <class V>
  V operator()(V a, V b) const {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class V>
  V operator()(V a, V b) const {
    return a > b || a != a ? a : b;
  }
};

template <class T, class Operation>
void combine_each(void* out, const void* a, const void* b, std::size_t count, Operation operation) {
  auto* const result = static_cast<T*>(out);
  const auto* const left = static_cast<const T*>(a);
  const auto* const right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) result[i] = store<T>(operation(load(left[i]), load(right[i])));
}

template <class T>
void combine_as(Op op, void* out, const void* a, const void* b, std::size_t count) {
  switch (op) {
    case Op::sum:
    case Op::average:
      return combine_each<T>(out, a, b, count, Sum{});
    case Op::min:
      return combine_each<T>(out, a, b, count, Min{});
    case Op::max:
      return combine_each<T>(out, a, b, count, Max{});
    case Op::product:
      return combine_each<T>(out, a, b, count, Product{});
    case Op::adasum:
      return;  // not element by element: adasum.cpp
  }
}

template <class T>
void divide_each(void* values, std::size_t count, int divisor) {
  auto* const value = static_cast<T*>(values);
  for (std::size_t i = 0; i < count; ++i) {
    const auto loaded = load(value[i]);
    using V = std::remove_cv_t<decltype(loaded)>;
    if constexpr (std::is_integral_v<V>)
      value[i] = static_cast<T>(static_cast<std::int64_t>(loaded) / divisor);
    else
      value[i] = store<T>(loaded / static_cast<V>(divisor));
  }
}

// Calls the work with a value of the C++ type behind a Type.
template <class Work>
void with_type(Type type, Work work) {
  switch (type) {
    case Type::u8:
    case Type::boolean:
      return work(std::uint8_t{});
    case Type::i8:
      return work(std::int8_t{});
    case Type::i32:
      return work(std::int32_t{});
    case Type::i64:
      return work(std::int64_t{});
    case Type::f16:
      return work(Half{});
    case Type::bf16:
      return work(Bfloat{});
    case Type::f32:
      return work(float{});
    case Type::f64:
      return work(double{});
  }
}

}  // namespace

void combine(Type type, Op op, void* out, const void* a, const void* b, std::size_t count) {
  with_type(type, [&](auto like) { combine_as<decltype(like)>(op, out, a, b, count); });
}

void divide(Type type, void* values, std::size_t count, int divisor) {
  with_type(type, [&](auto like) { divide_each<decltype(like)>(values, count, divisor); });
}

namespace detail {

float from_half(std::uint16_t bits) {
  // Shifted into place the exponent is too small by 112; a multiplication puts it right, for subnormals as
  // well.
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  if (rest >= 0x0f800000u) return std::bit_cast<float>(sign | rest | 0x7f800000u);  // infinity, NaN
  const float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t rest = bits & 0x7fffffffu;
  std::uint32_t result = 0;
  if (rest > 0x7f800000u) {
    result = 0x7e00u;  // NaN
  } else if (rest >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and above round to infinity
  } else if (rest < 0x38800000u) {
    // Subnormal: adding 0.5 moves the 2^-24 steps to the end of the mantissa, where the hardware rounds them.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  } else {
    result = (rest - 0x38000000u + 0x0fffu + ((rest >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}

float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // a quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace detail
}  // namespace longship::collective
