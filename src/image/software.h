// SPDX-License-Identifier: Apache-2.0
// Which software a file of an image tells of, by its path and, where that is not enough, its content: CUDA,
// cuDNN, PMI, PMIx, libstdc++, Python and the packages that decide where a job can run.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "member.h"

namespace longship::image {

using Software = std::map<std::string, std::string>;  // "cuda" → "11.8"; docs/formats/image-store.md

// Whether the file tells something; then it is small enough for memory.
[[nodiscard]] bool tells_of_software(const Member& member);
// What it tells is added to what is known; the more exact version stays, else the first.
void add_software(std::string_view path, std::string_view content, Software& known);

}  // namespace longship::image
