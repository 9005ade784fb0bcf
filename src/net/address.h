// SPDX-License-Identifier: Apache-2.0
// The parts of a web address.
#pragma once
#include <string>
#include <string_view>

namespace longship::net {

struct Address {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port;
  std::string path = "/";

  [[nodiscard]] std::string authority() const;  // as the Host header has it
};

// http://, https://, ws:// and wss://; an Error that says what is wrong with it.
[[nodiscard]] Address parse_address(std::string_view url);

// "127.0.0.1", "::1", "localhost": nobody else hears what is said there.
[[nodiscard]] bool is_loopback(std::string_view host);

// As a part of a path: all but letters, digits and "-._~" as %XX. Slashes stay if `keep_slashes`.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slashes = false);

}  // namespace longship::net
