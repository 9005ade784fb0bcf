// SPDX-License-Identifier: Apache-2.0
// SquashFS mounted by the kernel from a loop device: the fastest way, for real root alone.
#pragma once
#include "base/fd.h"

namespace longship::box {

// A mount that is attached nowhere yet, so it can be made before the namespaces are: if it fails there is
// still time for another way. The loop device frees itself with the last mount. Needs Linux 5.2.
[[nodiscard]] Fd mount_by_kernel(int image);

}  // namespace longship::box
