// SPDX-License-Identifier: Apache-2.0
// The headers of a code bundle of any bytes, as unpack_bundle reads them: what comes out names a place within
// the directory. Checksums are mended first, or nothing would ever get past them.
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "formats/member.h"
#include "fuzz/input.h"

namespace {

using namespace longship;

std::string with_checksum(std::string_view block) {
  std::string sealed(block);
  std::memset(sealed.data() + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : sealed) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  std::memcpy(sealed.data() + 148, digits, 7);
  return sealed;
}

void read_all(std::string_view rest) {
  formats::TarHeaders headers;
  while (rest.size() >= formats::tar_block) {
    const auto next = headers.block(with_checksum(rest.substr(0, formats::tar_block)));
    rest.remove_prefix(formats::tar_block);
    if (next.complete) {
      formats::check_name(next.member.name);
      if (next.member.name.find("..") == 0 && next.member.name.size() == 2) std::abort();
      continue;
    }
    if (next.pax_size > rest.size()) return;
    headers.pax(rest.substr(0, next.pax_size));
    rest.remove_prefix(next.pax_size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read_all(fuzz::text_of(data, size));
  } catch (const Error&) {
  }
  return 0;
}
