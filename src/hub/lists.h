// SPDX-License-Identifier: Apache-2.0
// Which jobs there are, newest first, with filters.
#pragma once
#include "formats/document.h"
#include "state.h"

namespace longship::hub {

[[nodiscard]] formats::Table list_jobs(const State& state, const ListJobs& list, Moment now);

}  // namespace longship::hub
