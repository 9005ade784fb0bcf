// SPDX-License-Identifier: Apache-2.0
// What tensors are made of, and what can be done with them across ranks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longship::collective {

// The numbers are part of the C ABI.
enum class Type : std::uint8_t {
  u8 = 0,
  i8 = 1,
  i32 = 2,
  i64 = 3,
  f16 = 4,
  bf16 = 5,
  f32 = 6,
  f64 = 7,
  boolean = 8,
};
enum class Op : std::uint8_t { sum = 0, average = 1, min = 2, max = 3, product = 4, adasum = 5 };

inline constexpr int type_count = 9;
inline constexpr int op_count = 6;
inline constexpr int element_wise_ops = 5;  // those before Adasum, which looks at whole tensors

[[nodiscard]] constexpr std::size_t size_of(Type type) {
  constexpr std::size_t sizes[type_count] = {1, 1, 4, 8, 2, 2, 4, 8, 1};
  return sizes[static_cast<std::size_t>(type)];
}

[[nodiscard]] constexpr std::string_view name_of(Type type) {
  constexpr std::string_view names[type_count] = {"u8",   "i8",  "i32", "i64", "f16",
                                                  "bf16", "f32", "f64", "bool"};
  return names[static_cast<std::size_t>(type)];
}

[[nodiscard]] constexpr std::string_view name_of(Op op) {
  constexpr std::string_view names[op_count] = {"sum", "average", "min", "max", "product", "adasum"};
  return names[static_cast<std::size_t>(op)];
}

[[nodiscard]] constexpr bool is_floating(Type type) {
  return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64;
}

}  // namespace longship::collective
