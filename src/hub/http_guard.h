// SPDX-License-Identifier: Apache-2.0
// Who may ask at all: tokens, and the headers by which a browser tells that somebody else's page asks.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace longship::hub::http {

// The token of "Bearer TOKEN"; empty if there is none.
[[nodiscard]] std::string_view bearer(std::string_view authorization);

// A page from elsewhere may give its own name our address (DNS rebinding). Then Host is that name: only
// addresses, "localhost" and our own names are ours.
[[nodiscard]] bool host_is_ours(std::string_view host, std::span<const std::string> names);

// Browsers say in Origin whose page asks. None: no browser.
[[nodiscard]] bool origin_is_ours(std::string_view origin, std::string_view host);

}  // namespace longship::hub::http
