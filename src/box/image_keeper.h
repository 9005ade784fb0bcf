// SPDX-License-Identifier: Apache-2.0
// The process that keeps an image mounted for the boxes of a node; shared_image.h tells why.
#pragma once
#include <chrono>
#include <string>

#include "image_identity.h"
#include "meeting.h"

namespace longship::box {

// In the keeper's process; returns when it may end. `command` is what the first box starts, if that is known.
void keep_image(Meeting& meeting, int image, const Identity& identity, std::chrono::milliseconds linger,
                const std::string& command);

}  // namespace longship::box
