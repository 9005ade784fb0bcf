// SPDX-License-Identifier: Apache-2.0
// Blobs of an image from where they can be had: those that an earlier pull left in the store, the others from
// the registry and its mirrors, several at a time.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/progress.h"
#include "reference.h"
#include "registry.h"
#include "store/store.h"

namespace longship::image {

// A registry, or a mirror of it, with what is for this host and no other.
struct Place {
  Reference reference;
  RegistryOptions options;
};

struct Wanted {
  std::string digest;
  std::uint64_t size = 0;
};

struct Fetched {
  std::map<std::string, Fd> blobs;  // by digest, open for reading; the store keeps them as long as they are
  std::vector<std::string> kept_before;  // those that were there already, which nobody has verified now
};

// Each blob is asked for at one place after the other, until one gives it with the right content.
[[nodiscard]] Fetched fetch_blobs(store::Store& store, const std::vector<Place>& places,
                                  std::vector<Wanted> blobs, Progress& progress);

}  // namespace longship::image
