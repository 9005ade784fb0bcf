// SPDX-License-Identifier: Apache-2.0
// From [space] and `rules` of a study file to a Space, every key checked.
#pragma once
#include "formats/fields.h"
#include "space.h"

namespace longship::sweep {

[[nodiscard]] Space read_space(const formats::Fields& study);
// A [[first]] table: values for some of the parameters.
[[nodiscard]] formats::Table read_point(const formats::Value& table, const Space& space, std::string path);

}  // namespace longship::sweep
