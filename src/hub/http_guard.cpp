// SPDX-License-Identifier: Apache-2.0
#include "http_guard.h"

#include <arpa/inet.h>
#include <strings.h>

#include <algorithm>

#include "base/text.h"

namespace longship::hub::http {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_address(std::string_view host) {
  const std::string text(host);
  in6_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

std::string_view bearer(std::string_view authorization) {
  constexpr std::string_view word = "Bearer ";
  if (!same_word(authorization.substr(0, word.size()), word)) return {};
  return trim(authorization.substr(word.size()));
}

bool host_is_ours(std::string_view host, std::span<const std::string> names) {
  const auto name = without_port(host);
  return same_word(name, "localhost") || is_address(name) ||
         std::any_of(names.begin(), names.end(),
                     [&](const std::string& ours) { return same_word(name, ours); });
}

bool origin_is_ours(std::string_view origin, std::string_view host) {
  if (origin.empty()) return true;
  const auto scheme = origin.find("://");
  return scheme != std::string_view::npos && same_word(origin.substr(scheme + 3), host);
}

}  // namespace longship::hub::http
