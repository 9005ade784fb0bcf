// SPDX-License-Identifier: Apache-2.0
// What a job needs at the hub before it is handed in: its code and its image.
#pragma once
#include "formats/document.h"
#include "job/job.h"

namespace longship::cli {

class HubClient;

// The code as a bundle; its digest and size as POST /v1/jobs wants them, null for a job without code.
[[nodiscard]] formats::Value bring_code(HubClient& hub, const job::Job& job);
// The hub has what is in its store, which on one machine is ours too; what only we have is sent.
void bring_images(HubClient& hub, const job::Job& job);

}  // namespace longship::cli
