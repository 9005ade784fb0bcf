// SPDX-License-Identifier: Apache-2.0
#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce.h"

namespace longship::collective {
namespace {

// f16 and bf16 by their bits, computed with in f32.
template <Type type>
struct Narrow {
  std::uint16_t bits;
};

template <class T>
auto value_of(T value) {
  return value;
}
inline float value_of(Narrow<Type::f16> value) {
  return detail::from_half(value.bits);
}
inline float value_of(Narrow<Type::bf16> value) {
  return detail::from_bfloat(value.bits);
}

template <class T>
struct As {
  using type = T;
  static T from(double value) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return static_cast<T>(static_cast<std::int64_t>(value));
    else
      return static_cast<T>(value);
  }
};
template <>
struct As<Narrow<Type::f16>> {
  using type = Narrow<Type::f16>;
  static type from(double value) { return {detail::to_half(static_cast<float>(value))}; }
};
template <>
struct As<Narrow<Type::bf16>> {
  using type = Narrow<Type::bf16>;
  static type from(double value) { return {detail::to_bfloat(static_cast<float>(value))}; }
};

template <class Work>
auto with_floating(Type type, Work work) {
  switch (type) {
    case Type::f16:
      return work(As<Narrow<Type::f16>>{});
    case Type::bf16:
      return work(As<Narrow<Type::bf16>>{});
    case Type::f64:
      return work(As<double>{});
    default:
      return work(As<float>{});
  }
}

template <class Work>
auto with_any(Type type, Work work) {
  switch (type) {
    case Type::u8:
    case Type::boolean:
      return work(As<std::uint8_t>{});
    case Type::i8:
      return work(As<std::int8_t>{});
    case Type::i32:
      return work(As<std::int32_t>{});
    case Type::i64:
      return work(As<std::int64_t>{});
    default:
      return with_floating(type, work);
  }
}

double neutral(Op op, double lowest, double highest) {
  if (op == Op::min) return highest;
  if (op == Op::max) return lowest;
  return op == Op::product ? 1 : 0;
}

std::size_t nan_among(Type type, const std::byte* values, std::size_t count) {
  return with_floating(type, [&](auto as) {
    const auto* const value = reinterpret_cast<const typename decltype(as)::type*>(values);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto one = value_of(value[i]);
      found += one != one ? 1 : 0;
    }
    return found;
  });
}

}  // namespace

void scale(Type type, void* values, std::size_t count, double factor) {
  if (factor == 1 || type == Type::boolean) return;
  with_any(type, [&](auto as) {
    auto* const value = static_cast<typename decltype(as)::type*>(values);
    for (std::size_t i = 0; i < count; ++i)
      value[i] = as.from(static_cast<double>(value_of(value[i])) * factor);
  });
}

void fill_neutral(Type type, Op op, void* values, std::size_t count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  with_any(type, [&](auto as) {
    using T = typename decltype(as)::type;
    T filling = as.from(op == Op::product ? 1 : 0);
    if constexpr (std::is_integral_v<T>) {
      if (op == Op::min) filling = std::numeric_limits<T>::max();
      if (op == Op::max) filling = std::numeric_limits<T>::min();
    } else {
      filling = as.from(neutral(op, -infinity, infinity));
    }
    std::fill_n(static_cast<T*>(values), count, filling);
  });
}

std::size_t count_nan(Type type, const void* values, std::size_t count) {
  constexpr std::size_t all_up_to = std::size_t{64} << 10, samples = 64, sample = 256;
  if (!is_floating(type)) return 0;
  const auto* const bytes = static_cast<const std::byte*>(values);
  const std::size_t width = size_of(type);
  if (count * width <= all_up_to) return nan_among(type, bytes, count);
  std::size_t found = 0;
  for (std::size_t i = 0; i < samples; ++i)
    found += nan_among(type, bytes + i * ((count - sample) / (samples - 1)) * width, sample);
  return found;
}

Products products(Type type, const void* a, const void* b, std::size_t count) {
  return with_floating(type, [&](auto as) {
    using T = typename decltype(as)::type;
    const auto* const left = static_cast<const T*>(a);
    const auto* const right = static_cast<const T*>(b);
    Products sum;
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<double>(value_of(left[i]));
      const auto y = static_cast<double>(value_of(right[i]));
      sum.ab += x * y;
      sum.aa += x * x;
      sum.bb += y * y;
    }
    return sum;
  });
}

void mix(Type type, void* out, double x, const void* a, double y, const void* b, std::size_t count) {
  with_floating(type, [&](auto as) {
    using T = typename decltype(as)::type;
    auto* const result = static_cast<T*>(out);
    const auto* const left = static_cast<const T*>(a);
    const auto* const right = static_cast<const T*>(b);
    for (std::size_t i = 0; i < count; ++i)
      result[i] =
          as.from(x * static_cast<double>(value_of(left[i])) + y * static_cast<double>(value_of(right[i])));
  });
}

}  // namespace longship::collective
