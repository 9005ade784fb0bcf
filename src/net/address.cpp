// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace longship::net {
namespace {

using Scheme = std::pair<std::string_view, bool>;
constexpr std::array<Scheme, 4> schemes = {Scheme{"http://", false}, Scheme{"ws://", false},
                                           Scheme{"https://", true}, Scheme{"wss://", true}};

bool is_port(std::string_view text) {
  unsigned number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && number > 0 && number < 65536;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

bool is_host(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_plain(c) || c == ':'; });
}

// What a server names ends up in requests: no line of its own may come with it.
bool is_path(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c <= ' ') || c == '\x7f'; });
}

}  // namespace

std::string Address::authority() const {
  const bool usual = port == (tls ? "443" : "80");
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return usual ? name : name + ":" + port;
}

Address parse_address(std::string_view url) {
  const auto scheme = std::find_if(schemes.begin(), schemes.end(),
                                   [&](const Scheme& known) { return url.starts_with(known.first); });
  if (scheme == schemes.end())
    throw Error(Failure::usage, "{} is not an address: it begins with http:// or https://", printable(url));
  Address address;
  address.tls = scheme->second;
  address.port = address.tls ? "443" : "80";
  std::string_view rest = url.substr(scheme->first.size());
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) address.path = rest.substr(slash);
  rest = rest.substr(0, slash);

  const auto colon = rest.starts_with('[') ? rest.find("]:") : rest.rfind(':');
  if (colon != std::string_view::npos) {
    const auto after = colon + (rest[colon] == ']' ? 2 : 1);
    address.port = rest.substr(after);
    rest = rest.substr(0, after - 1);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  address.host = rest;
  if (!is_host(address.host) || !is_port(address.port) || !is_path(address.path))
    throw Error(Failure::usage, "{} is not an address: expected http://HOST:PORT", printable(url));
  return address;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  in_addr address{};
  return host.starts_with("127.") && ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}

std::string percent_encode(std::string_view text, bool keep_slashes) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c) || (keep_slashes && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += digits[byte >> 4];
      encoded += digits[byte & 15];
    }
  }
  return encoded;
}

}  // namespace longship::net
