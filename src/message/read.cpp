// SPDX-License-Identifier: Apache-2.0
#include "read.h"

namespace longship::message {
namespace {

AttemptId parsed(const formats::Fields& fields, std::string_view key, const formats::Value& value) {
  if (!value.is(formats::Kind::text)) throw fields.wrong(key, "expected an attempt, found {}", value.shown());
  try {
    return AttemptId::parse(value.text());
  } catch (const Error& error) {
    throw fields.wrong(key, "{}", error.what());
  }
}

}  // namespace

AttemptId attempt(const formats::Fields& fields, std::string_view key) {
  return parsed(fields, key, fields.required(key));
}

std::vector<AttemptId> attempts(const formats::Fields& fields, std::string_view key) {
  std::vector<AttemptId> result;
  const auto* value = fields.find(key);
  if (value == nullptr) return result;
  if (!value->is(formats::Kind::array)) throw fields.wrong(key, "expected a list, found {}", value->shown());
  result.reserve(value->array().size());
  for (const auto& item : value->array()) result.push_back(parsed(fields, key, item));
  return result;
}

}  // namespace longship::message
