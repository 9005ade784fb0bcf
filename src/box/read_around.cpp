// SPDX-License-Identifier: Apache-2.0
#include "read_around.h"

#include <algorithm>

namespace longship::box {
namespace {

constexpr std::uint64_t long_ago = 256;  // parts; what was before counts half

// An image says itself how large it is, and must not get much memory by that.
constexpr std::uint64_t largest = std::uint64_t{1} << 40;

}  // namespace

ReadAround::ReadAround(std::uint64_t size)
    : size_(std::min(size, largest)), is_asked_((size_ + part - 1) / part), is_read_(is_asked_.size()) {}

// Parts are counted as asked for also while it does not pay, so that it can be seen when it would.
ReadAround::Stretch ReadAround::around(std::uint64_t position) {
  const std::uint64_t number = position / part;
  if (number >= is_asked_.size()) return {};
  if (is_asked_[number]) ++used_;
  is_read_[number] = true;
  const std::uint64_t last = std::min(number + read_before(number), is_asked_.size() - 1);
  std::uint64_t begin = number;
  while (begin <= last && is_asked_[begin]) ++begin;
  std::uint64_t end = begin;
  while (end <= last && !is_asked_[end]) is_asked_[end++] = true;
  if (begin == end) return {};
  const bool is_worth_it = pays();
  asked_ += end - begin;
  fade();
  if (!is_worth_it) return {};
  return {begin * part, std::min(end * part, size_) - begin * part};
}

std::uint64_t ReadAround::read_before(std::uint64_t number) const {
  std::uint64_t count = 0;
  while (count < most_ahead && count < number && is_read_[number - count - 1]) ++count;
  return count;
}

void ReadAround::fade() {
  if (asked_ < long_ago) return;
  asked_ /= 2;
  used_ /= 2;
}

}  // namespace longship::box
