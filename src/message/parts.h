// SPDX-License-Identifier: Apache-2.0
// What messages on both ways have in common, as JSON.
#pragma once
#include <string>

#include "formats/fields.h"
#include "pilot_messages.h"
#include "write.h"

namespace longship::message {

void write_assignment(std::string& out, const Assignment& assignment);
[[nodiscard]] Assignment read_assignment(const formats::Fields& fields);

// Metrics are left out where there are none.
void write_metrics(ObjectWriter& object, const Metrics& metrics);
[[nodiscard]] Metrics read_metrics(const formats::Fields& fields);

void write_attempts(ObjectWriter& object, std::string_view key, const std::vector<AttemptId>& attempts);

void write_ended(ObjectWriter& object, const Ended& ended);
[[nodiscard]] Ended read_ended(const formats::Fields& fields);

[[nodiscard]] std::string_view name_of(StopReason reason);
[[nodiscard]] StopReason read_stop_reason(const formats::Fields& fields);

}  // namespace longship::message
