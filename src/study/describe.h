// SPDX-License-Identifier: Apache-2.0
// Trials and parameters as JSON, for other languages. Numbers that JSON lacks are NaN, Infinity and
// -Infinity, as Python and JavaScript call them.
#pragma once
#include <span>
#include <string>
#include <utility>

#include "history.h"

namespace longship::study {

// {"number": 3, "state": 1, "params": [[0, 0.25]], "values": [1.5], "reports": [[1, 2.5]], …}: the parameters
// by their number, those of categories by the index of the choice.
void describe(const Trial& trial, std::string& json);
// {"name": "lr", "kind": 0, "low": 0.1, "high": 1, "step": 0, "log": true, "choices": []}; choices are texts.
void describe(const Parameter& parameter, std::string& json);
void describe(std::span<const Attribute> attributes, bool system, std::string& json);
// ["lr", 0.75]
void describe(const std::pair<std::string, double>& share, std::string& json);

}  // namespace longship::study
