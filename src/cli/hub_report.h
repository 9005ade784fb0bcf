// SPDX-License-Identifier: Apache-2.0
// Times of a job that ran elsewhere: the report that its site made (what trace::to_json wrote, read back),
// and the recordings themselves for whoever wants more.
#pragma once
#include <filesystem>

#include "formats/document.h"
#include "trace/report.h"

namespace longship::cli {

class HubClient;

[[nodiscard]] trace::Report report_from_json(const formats::Value& value);
// What each rank of a job recorded, into a directory that trace::load reads.
void fetch_recordings(HubClient& hub, const std::string& job, const std::filesystem::path& into);

}  // namespace longship::cli
