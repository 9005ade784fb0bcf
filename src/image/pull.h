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

struct PullRequest {
  std::vector<Place> places;  // the last one is the registry itself, the others its mirrors
  std::string name;           // for the image here
  std::string architecture;   // as images or kernels call it; empty: of an index, the image for this machine
};

// From the first place that gives it. An image for another architecture than the one that was asked for is an
// Error before its layers are fetched.
store::Image pull(store::Store& store, const PullRequest& request, Progress& progress);

// The digest of the manifest.
std::string push(const store::Store& store, const store::Image& image, const Reference& reference,
                 const RegistryOptions& options, Progress& progress);

}  // namespace longship::image
