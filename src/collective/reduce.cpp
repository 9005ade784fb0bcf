// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

#include <algorithm>
#include <atomic>

#include "copy.h"
#include "processor.h"
#include "reduce_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define LONGSHIP_AVX2 [[gnu::target("avx2,f16c")]]
#if defined(__clang__) && __clang_major__ >= 18 && __clang_major__ <= 21  // otherwise half of each register
#define LONGSHIP_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,evex512,f16c")]]
#else
#define LONGSHIP_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,f16c")]]
#endif
#endif

namespace longship::collective {
namespace {

using detail::Bfloat;
using detail::Half;

// One set of loops for a type and an operation; true if there is a NaN among the results.
struct Loops {
  bool (*combine)(void* out, const void* a, const void* b, std::size_t count);
  bool (*both)(void* a, void* b, std::size_t count);
};

template <class T, class Operation>
struct Portable {
  static bool combine(void* out, const void* a, const void* b, std::size_t count) {
    return detail::combine_each<T, Operation>(out, a, b, count);
  }
  static bool both(void* a, void* b, std::size_t count) {
    return detail::combine_both<T, Operation>(a, b, count);
  }
};

#if defined(__x86_64__)
template <class T, class Operation>
struct Avx2 {
  LONGSHIP_AVX2 static bool combine(void* out, const void* a, const void* b, std::size_t count) {
    return detail::combine_each<T, Operation>(out, a, b, count);
  }
  LONGSHIP_AVX2 static bool both(void* a, void* b, std::size_t count) {
    return detail::combine_both<T, Operation>(a, b, count);
  }
};

// Sums of f16 are what compressed gradients are made of, and the processor can convert them itself.
template <>
struct Avx2<Half, detail::Sum> {
  LONGSHIP_AVX2 static bool combine(void* out, const void* a, const void* b, std::size_t count) {
    auto* const result = static_cast<Half*>(out);
    const auto* const left = static_cast<const Half*>(a);
    const auto* const right = static_cast<const Half*>(b);
    std::size_t i = 0;
    __m256 not_numbers = _mm256_setzero_ps();
    for (; i + 8 <= count; i += 8) {
      const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(left + i)));
      const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(right + i)));
      const __m256 sum = _mm256_add_ps(x, y);
      not_numbers = _mm256_or_ps(not_numbers, _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(result + i),
                       _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT));
    }
    const bool found = _mm256_movemask_ps(not_numbers) != 0;
    return detail::combine_each<Half, detail::Sum>(result + i, left + i, right + i, count - i) || found;
  }
  LONGSHIP_AVX2 static bool both(void* a, void* b, std::size_t count) {
    const bool found = combine(a, a, b, count);
    copy_bytes(b, a, count * sizeof(Half));
    return found;
  }
};

template <class T, class Operation>
struct Avx512 {
  LONGSHIP_AVX512 static bool combine(void* out, const void* a, const void* b, std::size_t count) {
    return detail::combine_each<T, Operation>(out, a, b, count);
  }
  LONGSHIP_AVX512 static bool both(void* a, void* b, std::size_t count) {
    return detail::combine_both<T, Operation>(a, b, count);
  }
};
template <>
struct Avx512<Half, detail::Sum> : Avx2<Half, detail::Sum> {};

// Sums and means of f32 are what gradients are reduced by. One comparison looks for a NaN in two registers,
// which compilers do not think of: a tenth of the time of what lies in the second cache.
template <class Operation>
struct PairsOfRegisters {
  LONGSHIP_AVX512 static bool combine(void* out, const void* a, const void* b, std::size_t count) {
    auto* const result = static_cast<float*>(out);
    const auto* const left = static_cast<const float*>(a);
    const auto* const right = static_cast<const float*>(b);
    std::size_t i = 0;
    __mmask16 not_numbers = 0;
    for (; i + 2 * width <= count; i += 2 * width) {
      const __m512 first = at(left + i, right + i), second = at(left + i + width, right + i + width);
      _mm512_storeu_ps(result + i, first);
      _mm512_storeu_ps(result + i + width, second);
      not_numbers = _kor_mask16(not_numbers, _mm512_cmp_ps_mask(first, second, _CMP_UNORD_Q));
    }
    const bool found = detail::combine_each<float, Operation>(result + i, left + i, right + i, count - i);
    return found || not_numbers != 0;
  }
  LONGSHIP_AVX512 static bool both(void* a, void* b, std::size_t count) {
    auto* const left = static_cast<float*>(a);
    auto* const right = static_cast<float*>(b);
    std::size_t i = 0;
    __mmask16 not_numbers = 0;
    for (; i + 2 * width <= count; i += 2 * width) {
      const __m512 first = at(left + i, right + i), second = at(left + i + width, right + i + width);
      for (float* const to : {left + i, right + i}) {
        _mm512_storeu_ps(to, first);
        _mm512_storeu_ps(to + width, second);
      }
      not_numbers = _kor_mask16(not_numbers, _mm512_cmp_ps_mask(first, second, _CMP_UNORD_Q));
    }
    const bool found = detail::combine_both<float, Operation>(left + i, right + i, count - i);
    return found || not_numbers != 0;
  }

 private:
  static constexpr std::size_t width = 16;
  LONGSHIP_AVX512 static __m512 at(const float* left, const float* right) {
    const __m512 sum = _mm512_add_ps(_mm512_loadu_ps(left), _mm512_loadu_ps(right));
    return std::is_same_v<Operation, detail::Mean> ? _mm512_mul_ps(sum, _mm512_set1_ps(0.5F)) : sum;
  }
};
template <>
struct Avx512<float, detail::Sum> : PairsOfRegisters<detail::Sum> {};
template <>
struct Avx512<float, detail::Mean> : PairsOfRegisters<detail::Mean> {};
#endif

Instructions best() {
  const Processor processor = this_processor();
  return processor.avx512 ? Instructions::avx512
         : processor.avx2 ? Instructions::avx2
                          : Instructions::portable;
}

std::atomic<Instructions>& in_use() {
  static std::atomic<Instructions> value = best();
  return value;
}

template <class T, class Operation>
Loops loops_for() {
#if defined(__x86_64__)
  switch (in_use().load(std::memory_order_relaxed)) {
    case Instructions::avx512:
      return {&Avx512<T, Operation>::combine, &Avx512<T, Operation>::both};
    case Instructions::avx2:
      return {&Avx2<T, Operation>::combine, &Avx2<T, Operation>::both};
    case Instructions::portable:
      break;
  }
#endif
  return {&Portable<T, Operation>::combine, &Portable<T, Operation>::both};
}

template <class T>
Loops loops_of(Op op) {
  switch (op) {
    case Op::min:
      return loops_for<T, detail::Min>();
    case Op::max:
      return loops_for<T, detail::Max>();
    case Op::product:
      return loops_for<T, detail::Product>();
    case Op::sum:
    case Op::average:
    case Op::adasum:  // not element by element: adasum.cpp
      break;
  }
  return loops_for<T, detail::Sum>();
}

// Calls the work with a value of the C++ type behind a Type.
template <class Work>
auto with_type(Type type, Work work) {
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
    case Type::f64:
      return work(double{});
    case Type::f32:
      break;
  }
  return work(float{});
}

#if defined(__x86_64__)
template <class T>
LONGSHIP_AVX2 bool any_nan_avx2(const void* values, std::size_t count) {
  return detail::any_nan<T>(values, count);
}
template <class T>
LONGSHIP_AVX2 void divide_avx2(void* values, std::size_t count, int divisor) {
  detail::divide_each<T>(values, count, divisor);
}
#endif

template <class T>
void divide_each(void* values, std::size_t count, int divisor) {
#if defined(__x86_64__)
  if (in_use().load(std::memory_order_relaxed) != Instructions::portable)
    return divide_avx2<T>(values, count, divisor);
#endif
  detail::divide_each<T>(values, count, divisor);
}

template <class T>
bool any_nan(const void* values, std::size_t count) {
#if defined(__x86_64__)
  if (in_use().load(std::memory_order_relaxed) != Instructions::portable)
    return any_nan_avx2<T>(values, count);
#endif
  return detail::any_nan<T>(values, count);
}

Loops loops_of(Type type, Op op) {
  return with_type(type, [&](auto like) { return loops_of<decltype(like)>(op); });
}

// For two tensors that are both terms and results; null: not in one pass.
auto both_of(Type type, Op op) -> decltype(Loops::both) {
  if (op != Op::average) return loops_of(type, op).both;
  if (type == Type::f32) return loops_for<float, detail::Mean>().both;
  if (type == Type::f64) return loops_for<double, detail::Mean>().both;
  return nullptr;
}

// What is reduced at once before it is handed to all outputs: the inputs' lines and this stay in the first
// cache.
constexpr std::size_t reduced_at_once = 8 * 1024;

}  // namespace

void combine(Type type, Op op, void* out, const void* a, const void* b, std::size_t count) {
  loops_of(type, op).combine(out, a, b, count);
}

void divide(Type type, void* values, std::size_t count, int divisor) {
  with_type(type, [&](auto like) { divide_each<decltype(like)>(values, count, divisor); });
}

bool combine_all(Type type, Op op, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs, std::size_t count) {
  const bool in_place =
      inputs.size() == 2 && outputs.size() == 2 && inputs[0] == outputs[0] && inputs[1] == outputs[1];
  if (const auto both = in_place ? both_of(type, op) : nullptr) return both(outputs[0], outputs[1], count);
  const Loops loops = loops_of(type, op);
  const std::size_t width = size_of(type);
  if (inputs.size() == 2 && outputs.size() == 1 && op != Op::average)
    return loops.combine(outputs[0], inputs[0], inputs[1], count);
  alignas(64) std::byte block[reduced_at_once];
  bool found = false;
  for (std::size_t at = 0; at < count; at += reduced_at_once / width) {
    const std::size_t now = std::min(reduced_at_once / width, count - at);
    const auto input = [&](std::size_t index) { return inputs[index] + at * width; };
    if (inputs.size() == 1) copy_bytes(block, input(0), now * width);
    bool found_here = inputs.size() == 1 && contains_nan(type, block, now);
    if (inputs.size() > 1) found_here = loops.combine(block, input(0), input(1), now);
    for (std::size_t index = 2; index < inputs.size(); ++index)
      found_here = loops.combine(block, block, input(index), now);  // what was one stays one
    found = found || found_here;
    if (op == Op::average) divide(type, block, now, static_cast<int>(inputs.size()));
    for (std::byte* const output : outputs) copy_bytes(output + at * width, block, now * width);
  }
  return found;
}

bool contains_nan(Type type, const void* values, std::size_t count) {
  return with_type(type, [&](auto like) { return any_nan<decltype(like)>(values, count); });
}

Instructions instructions() {
  return in_use().load(std::memory_order_relaxed);
}

void use_at_most(Instructions most) {
  in_use().store(std::min(most, best()), std::memory_order_relaxed);
}

}  // namespace longship::collective
