// SPDX-License-Identifier: Apache-2.0
// Whatever a stranger sends as the head or the body of a request, route() has an answer. Lines of the input:
// method, target, Range, Content-Range; the rest is a body.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/http_guard.h"
#include "hub/route.h"
#include "hub/route_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longship;
  using namespace longship::hub::http;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 4> lines;
  for (auto& line : lines) {
    const auto end = rest.find('\n');
    line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  const auto action = route({.method = lines[0],
                             .target = lines[1],
                             .range = lines[2],
                             .content_range = lines[3],
                             .idempotency_key = {},
                             .last_event_id = {}});
  static_cast<void>(is_open(action));
  static_cast<void>(host_is_ours(lines[2], {}));
  static_cast<void>(origin_is_ours(lines[2], lines[3]));
  static_cast<void>(bearer(lines[3]));
  if (const auto range = parse_range(lines[2]))
    if (const auto part = part_of(*range, 1000); part && part->offset + part->length > 1000) std::abort();
  if (const auto* file = std::get_if<SendFile>(&action))
    if (("/" + file->ask.name + "/").find("/../") != std::string::npos || file->ask.name.starts_with('/'))
      std::abort();
  if (const auto* body = std::get_if<AskWithBody>(&action)) {
    try {
      static_cast<void>(request_from(*body, rest));
    } catch (const Error&) {
    }
  }
  return 0;
}
