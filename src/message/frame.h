// SPDX-License-Identifier: Apache-2.0
// A frame's two parts: hub_messages.h tells the format.
#pragma once
#include <string>
#include <string_view>

namespace longship::message {

struct FrameParts {
  std::string_view json, payload;
};

// Room for the length at its start: JSON is written behind it, then finish_frame() adds the rest.
[[nodiscard]] std::string begin_frame();
void finish_frame(std::string& frame, std::string_view payload = {});
[[nodiscard]] FrameParts parts_of(std::string_view frame);

}  // namespace longship::message
