// SPDX-License-Identifier: Apache-2.0
// All rows of the store, into an empty state. What does not fit together is an Error: a damaged store is not
// used.
#pragma once
#include <cstdint>
#include <unordered_map>

#include "state.h"

struct sqlite3;

namespace longship::hub {

// `images` gets the ids of the image records that are stored.
void load_rows(sqlite3* database, State& state, std::unordered_map<TextId, std::int64_t>& images);

}  // namespace longship::hub
