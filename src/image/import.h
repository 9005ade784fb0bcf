// SPDX-License-Identifier: Apache-2.0
// An image from a file or directory that is here already: an OCI layout or a tar of one, docker save's
// archive, a tar of a whole system, a directory tree, a SquashFS file. Which of them is found out by looking.
#pragma once
#include <filesystem>
#include <string>

#include "base/progress.h"
#include "store/store.h"

namespace longship::image {

store::Image import(store::Store& store, const std::filesystem::path& path, const std::string& name,
                    Progress& progress);

}  // namespace longship::image
