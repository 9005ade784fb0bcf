// SPDX-License-Identifier: Apache-2.0
#include "sobol.h"

#include <array>
#include <bit>

#include "base/random.h"

namespace longship::study {
namespace {

// Joe and Kuo's choice (SIAM J. Sci. Comput. 30, 2635, 2008): a primitive polynomial over the field of two
// elements, its coefficients as bits, and the first direction numbers. The first dimension needs none.
struct Generator {
  std::uint32_t polynomial;
  std::array<std::uint32_t, 9> first;
};
constexpr std::array<Generator, sobol_dimensions - 1> generators{{
    // clang-format off
    {3, {1}}, {7, {1, 3}}, {11, {1, 3, 1}}, {13, {1, 1, 1}}, {19, {1, 1, 3, 3}}, {25, {1, 3, 5, 13}},
    {37, {1, 1, 5, 5, 17}}, {41, {1, 1, 5, 5, 5}}, {47, {1, 1, 7, 11, 19}}, {55, {1, 1, 5, 1, 1}},
    {59, {1, 1, 1, 3, 11}}, {61, {1, 3, 5, 5, 31}}, {67, {1, 3, 3, 9, 7, 49}}, {91, {1, 1, 1, 15, 21, 21}},
    {97, {1, 3, 1, 13, 27, 49}}, {103, {1, 1, 1, 15, 7, 5}}, {109, {1, 3, 1, 15, 13, 25}},
    {115, {1, 1, 5, 5, 19, 61}}, {131, {1, 3, 7, 11, 23, 15, 103}}, {137, {1, 3, 7, 13, 13, 15, 69}},
    {143, {1, 1, 3, 13, 7, 35, 63}}, {145, {1, 3, 5, 9, 1, 25, 53}}, {157, {1, 3, 1, 13, 9, 35, 107}},
    {167, {1, 3, 1, 5, 27, 61, 31}}, {171, {1, 1, 5, 11, 19, 41, 61}}, {185, {1, 3, 5, 3, 3, 13, 69}},
    {191, {1, 1, 7, 13, 1, 19, 1}}, {193, {1, 3, 7, 5, 13, 19, 59}}, {203, {1, 1, 3, 9, 25, 29, 41}},
    {211, {1, 3, 5, 13, 23, 1, 55}}, {213, {1, 3, 7, 3, 13, 59, 17}}, {229, {1, 3, 1, 3, 5, 53, 69}},
    {239, {1, 1, 5, 5, 23, 33, 13}}, {241, {1, 1, 7, 7, 1, 61, 123}}, {247, {1, 1, 7, 9, 13, 61, 49}},
    {253, {1, 3, 3, 5, 3, 55, 33}}, {285, {1, 3, 1, 15, 31, 13, 49, 245}},
    {299, {1, 3, 5, 15, 31, 59, 63, 97}}, {301, {1, 3, 1, 11, 11, 11, 77, 249}},
    {333, {1, 3, 1, 11, 27, 43, 71, 9}}, {351, {1, 1, 7, 15, 21, 11, 81, 45}},
    {355, {1, 3, 7, 3, 25, 31, 65, 79}}, {357, {1, 3, 1, 1, 19, 11, 3, 205}},
    {361, {1, 1, 5, 9, 19, 21, 29, 157}}, {369, {1, 3, 7, 11, 1, 33, 89, 185}},
    {391, {1, 3, 3, 3, 15, 9, 79, 71}}, {397, {1, 3, 7, 11, 15, 39, 119, 27}},
    {425, {1, 1, 3, 1, 11, 31, 97, 225}}, {451, {1, 1, 1, 3, 23, 43, 57, 177}},
    {463, {1, 3, 7, 7, 17, 17, 37, 71}}, {487, {1, 3, 1, 5, 27, 63, 123, 213}},
    {501, {1, 1, 3, 5, 11, 43, 53, 133}}, {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}}, {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}}, {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}}, {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}}, {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}}, {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
    // clang-format on
}};

using Directions = std::array<std::uint32_t, 32>;

constexpr Directions directions_of(const Generator& generator) {
  const int degree = std::bit_width(generator.polynomial) - 1;
  Directions numbers{};
  for (int i = 0; i < 32; ++i) {
    std::uint32_t number = 0;
    if (i < degree) {
      number = generator.first[static_cast<std::size_t>(i)];
    } else {
      const auto back = [&](int steps) { return numbers[static_cast<std::size_t>(i - steps)]; };
      number = back(degree) ^ (back(degree) << degree);
      for (int k = 1; k < degree; ++k)
        if ((generator.polynomial >> (degree - k)) & 1U) number ^= back(k) << k;
    }
    numbers[static_cast<std::size_t>(i)] = number;
  }
  for (int i = 0; i < 32; ++i) numbers[static_cast<std::size_t>(i)] <<= 31 - i;
  return numbers;
}

const std::array<Directions, sobol_dimensions>& all_directions() {
  static const auto all = [] {
    std::array<Directions, sobol_dimensions> made{};
    for (std::uint32_t i = 0; i < 32; ++i) made[0][i] = 1U << (31 - i);
    for (std::size_t dimension = 1; dimension < sobol_dimensions; ++dimension)
      made[dimension] = directions_of(generators[dimension - 1]);
    return made;
  }();
  return all;
}

constexpr std::uint32_t reversed(std::uint32_t bits) {
  std::uint32_t result = 0;
  for (int i = 0; i < 32; ++i) result |= ((bits >> i) & 1U) << (31 - i);
  return result;
}

// Laine and Karras (2011): in the reversed word a bit is changed only by those below it, which is a random
// tree of swaps of halves, quarters, …
std::uint32_t scrambled(std::uint32_t bits, std::uint32_t seed) {
  std::uint32_t word = reversed(bits);
  word += seed;
  word ^= word * 0x6c50b47cU;
  word ^= word * 0xb82f1e52U;
  word ^= word * 0xc7afe638U;
  word ^= word * 0x8d22f6e6U;
  return reversed(word);
}

}  // namespace

double sobol(std::uint64_t seed, std::uint32_t index, std::uint32_t dimension) {
  if (dimension >= sobol_dimensions) return Random({seed, index, dimension}).uniform();
  std::uint32_t bits = 0;
  for (std::uint32_t i = 0; i < 32; ++i)
    if ((index >> i) & 1U) bits ^= all_directions()[dimension][i];
  return scrambled(bits, static_cast<std::uint32_t>(mixed(seed, dimension))) * 0x1p-32;
}

}  // namespace longship::study
