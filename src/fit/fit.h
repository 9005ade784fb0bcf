// SPDX-License-Identifier: Apache-2.0
// Does an image run on a host? Facts about both, found by looking (image, site), and the verdict with reason
// and remedy.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "version.h"

namespace longship::fit {

// What liblongship.so, bound into every box, is linked against.
inline const Version longship_needs_glibc{2, 28};

struct ImageFacts {
  std::string architecture;             // "x86_64" or "amd64"; empty: not known
  std::optional<Version> glibc;         // of the image; nothing: it has another C library, or none
  std::optional<Version> least_kernel;  // what its C library starts on, from the ABI note of its libc.so.6
};

struct HostFacts {
  std::string architecture;  // as uname tells
  Version kernel;
};

enum class Fit {
  good,
  limited,  // it starts, but something will not work in it
  none,     // it cannot start
};

struct Finding {
  std::string about;  // "architecture", "C library", "kernel"
  Fit fit = Fit::good;
  std::string reason;
  std::string remedy;  // empty if nothing needs one
};

// One finding for each thing that could be compared, in the order in which they would go wrong.
[[nodiscard]] std::vector<Finding> verdict(const ImageFacts& image, const HostFacts& host);
[[nodiscard]] Fit worst(std::span<const Finding> findings);

// Images say "amd64", kernels "x86_64": the kernel's word for either.
[[nodiscard]] std::string_view kernel_architecture(std::string_view name);

}  // namespace longship::fit
