// SPDX-License-Identifier: Apache-2.0
// Answers to requests are written where they are found out; whatever stands in the way is a Refusal.
#pragma once
#include <string>
#include <string_view>

#include "state.h"

namespace longship::hub {

struct Refusal {
  int status = 400;
  std::string sentence;
};

[[nodiscard]] JobIndex required_job(const State& state, std::string_view id);  // else 404
// What is in a job, and what becomes of it, is its owner's and their team's business, and the hub owner's.
void require_access(const State& state, const Caller& caller, JobIndex job);  // else 403
void require_owner(const State& state, const Caller& caller, std::string_view what);
// Of sites and users: letters, digits, ".", "_" and "-", at most 63, a letter or digit first.
[[nodiscard]] bool is_plain_name(std::string_view name);

}  // namespace longship::hub
