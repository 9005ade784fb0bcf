// SPDX-License-Identifier: Apache-2.0
#include "attempt_id.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "job/names.h"

namespace longship::message {
namespace {

// Digits alone, not from 0, in one spelling only: what names a directory has to be unique.
template <class Number>
std::optional<Number> counting_number(std::string_view digits) {
  Number number = 0;
  const auto* end = digits.data() + digits.size();
  if (digits.empty() || digits[0] < '1' || digits[0] > '9') return {};
  const auto [stopped, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stopped != end) return {};
  return number;
}

}  // namespace

bool is_job_id(std::string_view text) {
  const auto hyphen = text.rfind('-');
  if (hyphen == std::string_view::npos) return false;
  return counting_number<std::int64_t>(text.substr(hyphen + 1)).has_value() &&
         !job::job_name_complaint(text.substr(0, hyphen));
}

std::string AttemptId::text() const {
  std::string text;
  text.reserve(job.size() + 12);
  return text.append(job).append(1, '.').append(std::to_string(number));
}

AttemptId AttemptId::parse(std::string_view text) {
  const auto dot = text.rfind('.');
  if (dot != std::string_view::npos && is_job_id(text.substr(0, dot)))
    if (const auto number = counting_number<int>(text.substr(dot + 1)))
      return {std::string(text.substr(0, dot)), *number};
  throw Error(Failure::usage, "\"{}\" is no attempt: one looks like digits-7.2",
              printable(text.substr(0, 100)));
}

}  // namespace longship::message
