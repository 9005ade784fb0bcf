// SPDX-License-Identifier: Apache-2.0
// An image's program may be a link to /proc/self/exe, or a script that names it as its interpreter. To
// execute it would start Longship's own program in the box, as a file of the host that the box can then open
// for writing, whatever is bound and how (CVE-2019-5736 of runc).
#pragma once
#include <string>

namespace longship::box {

// By its own name, where the box has it, Longship may run: that is a box in a box.
[[nodiscard]] bool leads_to_own_program(const std::string& path);

}  // namespace longship::box
