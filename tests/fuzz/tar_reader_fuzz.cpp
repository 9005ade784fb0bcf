// SPDX-License-Identifier: Apache-2.0
// Any bytes at all are read as a tar archive, or refused with an Error; names that come out are safe.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "image/decompress.h"
#include "image/tar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  try {
    image::MemorySource source({reinterpret_cast<const char*>(data), size});
    const auto plain = image::decompress(source, 1u << 20);
    image::TarReader reader(*plain);
    while (const auto member = reader.next()) {
      if (member->path != image::normal_path(member->path)) std::abort();
      // Holes cost no bytes of input: reading terabytes of them finds nothing new.
      if (member->kind == image::Kind::file && member->size < 16u << 20) image::drain(reader.content());
    }
  } catch (const Error&) {
  }
  return 0;
}
