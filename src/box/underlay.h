// SPDX-License-Identifier: Apache-2.0
// Mount points and files where overlay is refused; layers.h has the picture.
#pragma once
#include "layers.h"

namespace longship::box {

void underlay(const Layers& layers, const Additions& additions);

}  // namespace longship::box
