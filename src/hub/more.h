// SPDX-License-Identifier: Apache-2.0
// What few attempts have, as JSON in one column: outputs, and the last metrics.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "rows.h"

namespace longship::hub {

[[nodiscard]] std::string more_of(const Attempt& attempt);  // empty: nothing more
void read_more(Attempt& attempt, std::string_view text);

// Of a site file: whether it is the one that refused a job before. The same on every machine.
[[nodiscard]] std::uint64_t version_of(std::string_view site_file);

}  // namespace longship::hub
