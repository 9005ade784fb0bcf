// SPDX-License-Identifier: Apache-2.0
// The way into a box whose image is at hand. It takes no library, so that a program which has none can go it.
#pragma once
#include <string>

#include "box.h"
#include "identity.h"
#include "image_root.h"
#include "scratch.h"

namespace longship::box {

// `scratch`: what the box writes goes there; null: into memory, or Spec::upper, or nowhere.
Way enter_image(const Spec& spec, const Caller& caller, ImageRoot& image, Scratch* scratch);

// Where the box begins. A directory that was asked for must exist; the caller's own only may.
void go_to(const std::string& wanted, const std::string& callers);

}  // namespace longship::box
