// SPDX-License-Identifier: Apache-2.0
// A store's record of an image, as it may lie in a directory that somebody else writes: refused with an
// Error, or valid, and then its file has a digest and it can be written and read again.
#include <cstdlib>

#include "base/error.h"
#include "formats/digest.h"
#include "fuzz/input.h"
#include "store/image.h"

namespace {

using namespace longship;

std::string written_again(std::string_view text) {
  const auto image = store::image_from_json(formats::parse_json(text, "fuzz"));
  if (formats::hex_of(image.root).find_first_not_of("0123456789abcdef") != std::string_view::npos)
    std::abort();
  return formats::dump_json(store::to_json(image));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string written;
  try {
    written = written_again(fuzz::text_of(data, size));
  } catch (const Error&) {
    return 0;
  }
  if (written_again(written) != written) std::abort();
  return 0;
}
