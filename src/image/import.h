// SPDX-License-Identifier: Apache-2.0
// An image from a file or directory that is here already: an OCI layout or a tar of one, docker save's
// archive, a tar of a whole system, a directory tree, a SquashFS file. Which of them is found out by looking.
#pragma once
#include <filesystem>
#include <string>

#include "base/progress.h"
#include "store/store.h"

namespace longship::image {

// `origin` is what the image remembers of where it came from; empty: "import" and the file's name.
store::Image import(store::Store& store, const std::filesystem::path& path, const std::string& name,
                    Progress& progress, const std::string& origin = {});

}  // namespace longship::image
