// SPDX-License-Identifier: Apache-2.0
// Does NVIDIA's driver run programs of this CUDA?
#pragma once
#include "fit.h"

namespace longship::fit {

// The newest CUDA whose programs a driver runs, "535.104" → 12.2; nothing for drivers before CUDA 8.
[[nodiscard]] std::optional<Version> cuda_of_driver(const Version& driver);

[[nodiscard]] Finding judge_cuda(const Version& cuda, const Version& driver);

// The version in /proc/driver/nvidia/version; nothing if the text has none.
[[nodiscard]] std::optional<Version> driver_in(std::string_view text);

}  // namespace longship::fit
