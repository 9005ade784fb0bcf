// SPDX-License-Identifier: Apache-2.0
// A time report as the hub hands it on: what trace::to_json wrote at the site, read back.
#pragma once
#include "formats/document.h"
#include "trace/report.h"

namespace longship::cli {

[[nodiscard]] trace::Report report_from_json(const formats::Value& value);

}  // namespace longship::cli
