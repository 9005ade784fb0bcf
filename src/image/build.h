// SPDX-License-Identifier: Apache-2.0
// An image from a Dockerfile, without root, daemon or subordinate ids.
//
// A RUN happens in a box over the image so far; what it wrote is the upper part of an overlay and becomes a
// layer. Each change is a step, kept in the store under a digest of all that went into it: the image before,
// the instruction, the files copied, the variables. A step that is there already is not done again.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "store/store.h"

namespace longship::image {

struct Build {
  std::filesystem::path context;
  std::filesystem::path dockerfile;              // empty: "Dockerfile" in the context
  std::string name;                              // of the image
  std::map<std::string, std::string> arguments;  // --build-arg
};

store::Image build(store::Store& store, const Build& wish);

}  // namespace longship::image
