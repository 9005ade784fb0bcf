// SPDX-License-Identifier: Apache-2.0
// The image that a build starts from.
#pragma once
#include <string>

#include "store/store.h"

namespace longship::image {

// What FROM names, which is an image in the store. If it is not there the Error tells how to bring it: which
// registry a bare name means is not guessed, and a build fetches nothing by itself.
[[nodiscard]] store::Image find_base(const store::Store& store, const std::string& name);

}  // namespace longship::image
