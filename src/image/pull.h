// SPDX-License-Identifier: Apache-2.0
// Images from and to registries. A pull brings the blobs, several at a time, into an OCI layout aside, which
// is then imported; a push exports such a layout and brings it the other way.
#pragma once
#include <string>

#include "base/progress.h"
#include "reference.h"
#include "registry.h"
#include "store/store.h"

namespace longship::image {

// Of an index, the image for this machine.
store::Image pull(store::Store& store, const Reference& reference, const std::string& name,
                  const RegistryOptions& options, Progress& progress);

// The digest of the manifest.
std::string push(const store::Store& store, const store::Image& image, const Reference& reference,
                 const RegistryOptions& options, Progress& progress);

}  // namespace longship::image
