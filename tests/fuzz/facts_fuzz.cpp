// SPDX-License-Identifier: Apache-2.0
// A file of any name and content tells facts about an image, or nothing. The first line is its path.
#include <cstdlib>

#include "fuzz/input.h"
#include "image/facts.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  auto content = fuzz::text_of(data, size);
  image::Member member;
  member.path = fuzz::take_until(content, "\n");
  member.size = content.size();
  image::FactFinder facts;
  if (image::FactFinder::wants(member)) facts.look(member.path, content);
  for (const auto& [name, version] : *facts.found().software)
    if (name.empty() || version.find('\x1b') != std::string::npos) std::abort();
  return 0;
}
