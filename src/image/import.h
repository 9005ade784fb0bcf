// SPDX-License-Identifier: Apache-2.0
// An image in the store from one that is here already: see open_image.h for the forms it can have.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "oci.h"
#include "store/store.h"

namespace longship::image {

// `architecture` as in open_image().
store::Image import(store::Store& store, const std::filesystem::path& path, const std::string& name,
                    Progress& progress, std::string_view architecture = {});
// The same for a layout in another form; `image` says what it is called and where it came from.
store::Image import_layout(store::Store& store, const Layout& layout, store::Image image, Progress& progress);

}  // namespace longship::image
