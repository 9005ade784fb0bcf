// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace longship::box {

inline constexpr const char* fuse_device = "/dev/fuse";

// May this process use FUSE? Tells why not, or nothing.
[[nodiscard]] std::string why_no_fuse();

}  // namespace longship::box
