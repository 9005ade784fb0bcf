// SPDX-License-Identifier: Apache-2.0
// What the hub asks about attempts that are or were here: parts of their files, metrics, the report.
//
// Names come from people and files from jobs: nothing outside the attempt's directory is opened, no link is
// followed, and only regular files are read.
#pragma once
#include "message/hub_messages.h"
#include "message/spool.h"

namespace longship::agent {

inline constexpr std::uint64_t largest_answer = std::uint64_t{4} << 20;

// What goes wrong is in the answer's error.
[[nodiscard]] message::Answer answer(const message::Spool& spool, const message::Question& question) noexcept;

}  // namespace longship::agent
