// SPDX-License-Identifier: Apache-2.0
// What people type for an image in a registry, what servers answer in headers and events, and what stands in
// docker's config.json: understood or refused with an Error.
#include <cstdlib>

#include "base/error.h"
#include "formats/document.h"
#include "fuzz/input.h"
#include "image/credentials.h"
#include "image/reference.h"
#include "image/registry.h"
#include "net/address.h"
#include "net/event_lines.h"

namespace {

using namespace longship;

void try_reference(std::string_view text) {
  const auto found = image::parse_reference(text);
  if (image::parse_reference(found.text()).text() != found.text()) std::abort();
  if (("/" + found.repository + "/").find("/../") != std::string::npos) std::abort();
}

void try_address(std::string_view text) {
  const auto found = net::parse_address(text);
  if (found.path.empty() || found.path.find_first_of("\r\n") != std::string::npos) std::abort();
  static_cast<void>(net::is_loopback(found.host));
}

void try_credentials(std::string_view text) {
  const auto entry = image::detail::entry_for(formats::parse_json(text, "fuzz"), "host:5000");
  if (entry.helper.find('/') != std::string::npos) std::abort();
}

void try_events(std::string_view text) {
  net::EventLines lines([](const net::ServerEvent&) {});
  for (const char c : text) lines.add({&c, 1});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto text = fuzz::text_of(data + 1, size - 1);
  try {
    switch (data[0]) {
      case 'r':
        try_reference(text);
        break;
      case 'a':
        try_address(text);
        break;
      case 'c':
        try_credentials(text);
        break;
      case 'e':
        try_events(text);
        break;
      default:
        static_cast<void>(image::parse_challenge(text));
    }
  } catch (const Error&) {
  }
  return 0;
}
