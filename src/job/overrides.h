// SPDX-License-Identifier: Apache-2.0
// --set needs.nodes=16: a value of the job file changed for one run.
#pragma once
#include <span>
#include <string>

#include "formats/document.h"

namespace longship::job {

// The value is read as TOML, and as plain text where it is none: name=gan3d needs no quotes. The new values'
// places are the options, so that whoever finds one wrong names the option.
void apply_overrides(formats::Value& document, std::span<const std::string> overrides);

}  // namespace longship::job
