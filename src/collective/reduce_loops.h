// SPDX-License-Identifier: Apache-2.0
// The loops of reduce.cpp for elements of any type, always inlined, so that each caller compiles them for its
// own instructions.
#pragma once
#include <cstddef>
#include <type_traits>

#include "half.h"

// The pointers of a loop are equal or do not overlap, which a compiler cannot know: it would go one by one
// where a sum is written over one of its terms.
#if defined(__clang__)
#define LONGSHIP_VECTORISED _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define LONGSHIP_VECTORISED _Pragma("GCC ivdep")
#endif

namespace longship::collective::detail {

struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};

// Values are computed in their own type, except the 16-bit floats (in f32) and the integers, whose unsigned
// counterparts wrap without undefined behaviour.
template <class T>
[[gnu::always_inline]] inline auto load(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return from_half(value.bits);
  else if constexpr (std::is_same_v<T, Bfloat>)
    return from_bfloat(value.bits);
  else
    return value;
}

template <class T, class V>
[[gnu::always_inline]] inline T store(V value) {
  if constexpr (std::is_same_v<T, Half>)
    return {to_half(value)};
  else if constexpr (std::is_same_v<T, Bfloat>)
    return {to_bfloat(value)};
  else
    return static_cast<T>(value);
}

// Narrow types are promoted to int before they are multiplied: unsigned int, so that i8 and u8 wrap as well.
template <class T>
[[gnu::always_inline]] inline auto wrapping(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::common_type_t<std::make_unsigned_t<T>, unsigned>>(value);
  else
    return value;
}

struct Sum {
  template <class V>
  [[gnu::always_inline]] auto operator()(V a, V b) const {
    return wrapping(a) + wrapping(b);
  }
};
// Of two: half of a sum is what a division by two would give, to the last bit.
struct Mean {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return (a + b) * V{0.5};
  }
};
struct Product {
  template <class V>
  [[gnu::always_inline]] auto operator()(V a, V b) const {
    return wrapping(a) * wrapping(b);
  }
};
// Written so that a NaN on either side is passed on.
struct Min {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return a < b || a != a ? a : b;
  }
};
struct Max {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return a > b || a != a ? a : b;
  }
};

// 1 if it is not a number, as a number that vectorises; integers always are.
template <class V>
[[gnu::always_inline]] inline std::uint32_t is_nan(V value) {
  if constexpr (std::is_floating_point_v<V>)
    return value != value ? 1u : 0u;
  else
    return 0u;
}

// True if there is a NaN among the results: looked for here, while they are in a register.
template <class T, class Operation>
[[gnu::always_inline]] inline bool combine_each(void* out, const void* a, const void* b, std::size_t count) {
  auto* const result = static_cast<T*>(out);
  const auto* const left = static_cast<const T*>(a);
  const auto* const right = static_cast<const T*>(b);
  std::uint32_t found = 0;
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = Operation{}(load(left[i]), load(right[i]));
    result[i] = store<T>(value);
    found |= is_nan(value);
  }
  return found != 0;
}

// Two ranks: the result goes where both terms were.
template <class T, class Operation>
[[gnu::always_inline]] inline bool combine_both(void* a, void* b, std::size_t count) {
  auto* const left = static_cast<T*>(a);
  auto* const right = static_cast<T*>(b);
  std::uint32_t found = 0;
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = Operation{}(load(left[i]), load(right[i]));
    left[i] = right[i] = store<T>(value);
    found |= is_nan(value);
  }
  return found != 0;
}

// Block by block: within one there is no branch, so that it is compared many at a time.
template <class T>
[[gnu::always_inline]] inline bool any_nan(const void* values, std::size_t count) {
  constexpr std::size_t block = 1024;
  const auto* const value = static_cast<const T*>(values);
  for (std::size_t at = 0; at < count; at += block) {
    const std::size_t end = at + block < count ? at + block : count;
    std::uint32_t found = 0;
    for (std::size_t i = at; i < end; ++i) {
      found |= is_nan(load(value[i]));
    }
    if (found != 0) return true;
  }
  return false;
}

template <class T>
[[gnu::always_inline]] inline void divide_each(void* values, std::size_t count, int divisor) {
  auto* const value = static_cast<T*>(values);
  using V = std::remove_cv_t<decltype(load(*value))>;
  if constexpr (std::is_integral_v<V>) {
    for (std::size_t i = 0; i < count; ++i)
      value[i] = static_cast<T>(static_cast<std::int64_t>(value[i]) / divisor);
  } else if ((divisor & (divisor - 1)) == 0) {  // then its inverse is exact, and to multiply is much quicker
    const V inverse = V{1} / static_cast<V>(divisor);
    for (std::size_t i = 0; i < count; ++i) value[i] = store<T>(load(value[i]) * inverse);
  } else {
    for (std::size_t i = 0; i < count; ++i) value[i] = store<T>(load(value[i]) / static_cast<V>(divisor));
  }
}

}  // namespace longship::collective::detail
