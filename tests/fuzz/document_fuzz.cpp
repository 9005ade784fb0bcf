// SPDX-License-Identifier: Apache-2.0
// Any bytes at all are read as JSON, TOML or YAML, or refused with an Error; what was read can be written as
// JSON, and reads back as the same. The first byte chooses.
#include <cstdlib>

#include "base/error.h"
#include "formats/document.h"
#include "formats/yaml.h"
#include "fuzz/input.h"

namespace {

using namespace longship;

formats::Value parse(char kind, std::string_view text) {
  switch (kind) {
    case 'j':
      return formats::parse_json(text, "fuzz");
    case 't':
      return formats::parse_toml(text, "fuzz");
    default:
      return formats::parse_yaml(text, "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string written;
  try {
    written = formats::dump_json(parse(static_cast<char>(data[0]), fuzz::text_of(data + 1, size - 1)));
  } catch (const Error&) {  // also for infinities, which JSON has not
    return 0;
  }
  if (formats::dump_json(formats::parse_json(written, "again")) != written) std::abort();
  return 0;
}
