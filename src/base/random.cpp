// SPDX-License-Identifier: Apache-2.0
#include "random.h"

#include <cmath>
#include <numbers>

namespace longship {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

constexpr std::uint64_t scrambled(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t mixed(std::uint64_t first, std::uint64_t second) {
  return scrambled(scrambled(first + golden) + second * golden + golden);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return scrambled(hash);
}

Random::Random(std::initializer_list<std::uint64_t> names) {
  for (const auto name : names) state_ = mixed(state_, name);
}

std::uint64_t Random::next() {
  state_ += golden;
  return scrambled(state_);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

// Box and Muller's; the second number is given away, so that the state stays one word.
double Random::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::uint64_t Random::below(std::uint64_t count) {
  const auto limit =
      ~std::uint64_t{0} - ~std::uint64_t{0} % count;  // a multiple of count: no value is favoured
  for (;;)
    if (const auto value = next(); value < limit) return value % count;
}

}  // namespace longship
