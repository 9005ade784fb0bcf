// SPDX-License-Identifier: Apache-2.0
#include "narrow.h"

#include <algorithm>
#include <cstring>

#include "reduce.h"
#include "reduce_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace longship::collective {
namespace {

struct Conversions {
  void (*narrow)(const float* values, std::uint16_t* out, std::size_t count);
  void (*widen)(const std::uint16_t* narrowed, float* out, std::size_t count);
};

[[gnu::always_inline]] inline void to_bfloats(const float* values, std::uint16_t* out, std::size_t count) {
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) out[i] = detail::to_bfloat(values[i]);
}
[[gnu::always_inline]] inline void from_bfloats(const std::uint16_t* narrowed, float* out,
                                                std::size_t count) {
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) out[i] = detail::from_bfloat(narrowed[i]);
}
[[gnu::always_inline]] inline void to_halves(const float* values, std::uint16_t* out, std::size_t count) {
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) out[i] = detail::to_half(values[i]);
}
[[gnu::always_inline]] inline void from_halves(const std::uint16_t* narrowed, float* out, std::size_t count) {
  LONGSHIP_VECTORISED
  for (std::size_t i = 0; i < count; ++i) out[i] = detail::from_half(narrowed[i]);
}

void portable_to_bfloats(const float* values, std::uint16_t* out, std::size_t count) {
  to_bfloats(values, out, count);
}
void portable_from_bfloats(const std::uint16_t* narrowed, float* out, std::size_t count) {
  from_bfloats(narrowed, out, count);
}
void portable_to_halves(const float* values, std::uint16_t* out, std::size_t count) {
  to_halves(values, out, count);
}
void portable_from_halves(const std::uint16_t* narrowed, float* out, std::size_t count) {
  from_halves(narrowed, out, count);
}

#if defined(__x86_64__)
#define LONGSHIP_NARROW_AVX2 [[gnu::target("avx2,f16c")]]
LONGSHIP_NARROW_AVX2 void avx2_to_bfloats(const float* values, std::uint16_t* out, std::size_t count) {
  to_bfloats(values, out, count);
}
LONGSHIP_NARROW_AVX2 void avx2_from_bfloats(const std::uint16_t* narrowed, float* out, std::size_t count) {
  from_bfloats(narrowed, out, count);
}
// The processor's own conversions; its NaNs keep more of their bits, which nobody looks at.
LONGSHIP_NARROW_AVX2 void avx2_to_halves(const float* values, std::uint16_t* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
  to_halves(values + i, out + i, count - i);
}
LONGSHIP_NARROW_AVX2 void avx2_from_halves(const std::uint16_t* narrowed, float* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(narrowed + i))));
  from_halves(narrowed + i, out + i, count - i);
}
#endif

Conversions conversions_for(Type type) {
#if defined(__x86_64__)
  if (instructions() != Instructions::portable)
    return type == Type::f16 ? Conversions{&avx2_to_halves, &avx2_from_halves}
                             : Conversions{&avx2_to_bfloats, &avx2_from_bfloats};
#endif
  return type == Type::f16 ? Conversions{&portable_to_halves, &portable_from_halves}
                           : Conversions{&portable_to_bfloats, &portable_from_bfloats};
}

}  // namespace

void narrow(Type to, std::span<const float> values, std::byte* out) {
  conversions_for(to).narrow(values.data(), reinterpret_cast<std::uint16_t*>(out), values.size());
}

void widen(Type from, const std::byte* narrowed, std::span<float> values) {
  conversions_for(from).widen(reinterpret_cast<const std::uint16_t*>(narrowed), values.data(), values.size());
}

void round_to(Type to, std::span<float> values) {
  constexpr std::size_t at_once = 2048;
  alignas(64) std::byte block[2 * at_once];
  for (std::size_t at = 0; at < values.size(); at += at_once) {
    const auto part = values.subspan(at, std::min(at_once, values.size() - at));
    narrow(to, part, block);
    widen(to, block, part);
  }
}

}  // namespace longship::collective
