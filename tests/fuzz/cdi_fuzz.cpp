// SPDX-License-Identifier: Apache-2.0
// Any bytes at all are read as a CDI file, JSON or YAML, or refused with an Error; paths that come out are
// absolute.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "launch/cdi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  try {
    const auto spec = launch::parse_cdi({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const auto& mount : spec.edits.mounts)
      if (!mount.from.is_absolute() || !mount.to.is_absolute()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
