// SPDX-License-Identifier: Apache-2.0
// Images from and to registries. A pull brings the blobs that are not there yet, several at a time, and
// imports them; a push exports an OCI layout and brings it the other way.
#pragma once
#include <string>
#include <vector>

#include "base/progress.h"
#include "fetch.h"
#include "reference.h"
#include "registry.h"
#include "store/store.h"

namespace longship::image {

// From the first place that gives it; the last one is the registry itself, the others its mirrors. Of an
// index, the image for this machine.
store::Image pull(store::Store& store, const std::vector<Place>& places, const std::string& name,
                  Progress& progress);

// The digest of the manifest.
std::string push(const store::Store& store, const store::Image& image, const Reference& reference,
                 const RegistryOptions& options, Progress& progress);

}  // namespace longship::image
