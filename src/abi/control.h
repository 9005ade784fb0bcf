// SPDX-License-Identifier: Apache-2.0
// The training process's side of the control page (base/control.h).
#pragma once
#include <cstdint>

namespace longship::abi {

// How often a checkpoint has been asked for; 0 if there is no page. The page is looked for at the first call
// only: afterwards this is one load.
[[nodiscard]] std::uint32_t checkpoints_wanted() noexcept;

}  // namespace longship::abi
