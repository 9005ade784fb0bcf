// SPDX-License-Identifier: Apache-2.0
// Where the parts of this installation are, relative to the running program, so that the whole can be moved:
//   bin/longship                     what is typed: quick, hands most things over to the other two
//   libexec/longship/longship-node   box and launch, for compute nodes: static
//   libexec/longship/longship        everything
//   lib/longship/                    what boxes see as /opt/longship: liblongship.so, python/longship
#pragma once
#include <filesystem>

namespace longship::cli {

[[nodiscard]] std::filesystem::path prefix();
[[nodiscard]] std::filesystem::path small_program();  // bin/longship
[[nodiscard]] std::filesystem::path node_program();   // libexec/longship/longship-node
[[nodiscard]] std::filesystem::path large_program();  // libexec/longship/longship
[[nodiscard]] std::filesystem::path in_the_box();     // lib/longship

}  // namespace longship::cli
