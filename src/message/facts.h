// SPDX-License-Identifier: Apache-2.0
// Facts as parts of messages.
#pragma once
#include <string>

#include "formats/fields.h"
#include "hub_messages.h"

namespace longship::message {

void write_fact(std::string& out, const Fact& fact);
[[nodiscard]] Fact read_fact(const formats::Fields& fields);

}  // namespace longship::message
