// SPDX-License-Identifier: Apache-2.0
// An answer, and the headers that keep browsers from doing more with it than we mean. A part of server.cpp.
#pragma once
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "request.h"

namespace longship::hub::http {

namespace beast = boost::beast;
namespace web = beast::http;

using Headers = std::vector<std::pair<std::string, std::string>>;
struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  Headers headers = {};
  std::optional<std::uint64_t> length = {};  // of a body that comes in pieces
};

inline Reply reply_of(Response response) {
  return {.status = response.status, .type = std::move(response.type), .body = std::move(response.body)};
}
inline Reply refusal(int status, std::string_view sentence) {
  return reply_of(failure(status, sentence));
}

// What stands in a request is 400, but for what a disk did: full (507), or out of order (503).
inline int status_of(const Error& error) {
  if (error.number() == ENOSPC || error.number() == EDQUOT) return 507;
  return error.number() == 0 ? 400 : 503;
}
inline Reply refusal(const Error& error) {
  return refusal(status_of(error), error.what());
}

inline constexpr std::string_view page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
    "'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// What jobs wrote may claim to be a page: it is never shown as one.
inline constexpr std::string_view data_policy = "default-src 'none'; frame-ancestors 'none'; sandbox";

inline void add_guards(web::response_header<>& head, bool tls) {
  head.set("X-Content-Type-Options", "nosniff");
  head.set("X-Frame-Options", "DENY");
  head.set("Referrer-Policy", "no-referrer");
  head.set("Cross-Origin-Opener-Policy", "same-origin");
  head.set("Cross-Origin-Resource-Policy", "same-origin");
  if (tls) head.set("Strict-Transport-Security", "max-age=31536000");
  if (head.find("Content-Security-Policy") == head.end())
    head.set("Content-Security-Policy", beast::string_view(data_policy.data(), data_policy.size()));
  if (head.find(web::field::cache_control) == head.end()) head.set(web::field::cache_control, "no-store");
}

inline std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace longship::hub::http
