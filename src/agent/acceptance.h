// SPDX-License-Identifier: Apache-2.0
// Does this site take what the hub sends? The same function as the broker's, asked again here, because the
// agent does not trust the hub.
#pragma once
#include <optional>
#include <string>

#include "job/job.h"
#include "message/assignment.h"
#include "site/site.h"

namespace longship::agent {

// Nothing, or why not.
[[nodiscard]] std::optional<std::string> refusal(const site::Site& site,
                                                 const message::Assignment& assignment, const job::Job& job);

}  // namespace longship::agent
