// SPDX-License-Identifier: Apache-2.0
// From a document's values to a job, every key checked.
#pragma once
#include <filesystem>

#include "formats/document.h"
#include "job.h"

namespace longship::job {

// `directory` is what relative paths start from; null for a job from another machine, which has none and
// whose paths cannot be looked at.
[[nodiscard]] Job read_job(const formats::Value& document, const std::filesystem::path* directory);

}  // namespace longship::job
