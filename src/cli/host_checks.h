// SPDX-License-Identifier: Apache-2.0
// What doctor looks at.
#pragma once
#include <string>
#include <vector>

namespace longship::cli {

enum class Verdict {
  yes,
  no,      // missed: there is a remedy, or something will not work
  absent,  // not there, and that is no fault: a laptop has no batch system
};

struct Check {
  std::string name;
  Verdict verdict = Verdict::absent;
  std::string detail;
  std::string remedy;
};

// All of them, in the order to be shown; takes well under a second.
[[nodiscard]] std::vector<Check> check_host();

[[nodiscard]] bool can_run_boxes(const std::vector<Check>& checks);

}  // namespace longship::cli
