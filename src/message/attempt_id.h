// SPDX-License-Identifier: Apache-2.0
// One try at a job: "digits-7.2" is the second of job digits-7. The number is the lease's epoch: a higher one
// supersedes a lower one.
#pragma once
#include <compare>
#include <string>
#include <string_view>

namespace longship::message {

// "digits-7": a job's name, a hyphen and a number from 1, without leading zeros. Safe as a file's name.
[[nodiscard]] bool is_job_id(std::string_view text);

struct AttemptId {
  std::string job;  // "digits-7": the job's name and the hub's number for it
  int number = 0;   // from 1

  [[nodiscard]] std::string text() const;  // "digits-7.2": also the name of its directory
  [[nodiscard]] static AttemptId parse(std::string_view text);  // an Error for everything else
  [[nodiscard]] auto operator<=>(const AttemptId&) const = default;
};

}  // namespace longship::message
