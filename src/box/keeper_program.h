// SPDX-License-Identifier: Apache-2.0
// The keeper of an image's mount, where the program that starts it cannot read images: its process becomes
// one that can, with the descriptors it needs and nothing else.
#pragma once
#include <string>
#include <vector>

#include "shared_image.h"

namespace longship::box {

inline constexpr const char* keeper_word = "--keep-image";  // what such a program is started with

// For share_mount(): becomes `program`. `command` is what the first box starts, if that is known.
[[nodiscard]] Keep keep_by_program(const std::string& program, const std::string& command);

// There: `words` are those after keeper_word. Returns when the keeper may end.
void keep_as_told(const std::vector<std::string>& words);

}  // namespace longship::box
