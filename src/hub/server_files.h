// SPDX-License-Identifier: Apache-2.0
// What attempts wrote: their logs and files, which lie at the site. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "route.h"

namespace longship::hub::http {

inline awaitable<void> send_log(Exchange& exchange, const SendLog& action) {
  AskSite wanted = action.ask;
  wanted.offset =
      static_cast<std::uint64_t>(action.from);  // negative: from the end, which the hub understands
  auto response = co_await exchange.ask(wanted);
  const auto from = response.offset, size = response.size;
  auto reply = reply_of(std::move(response));
  if (reply.status == 200) {
    reply.type = "text/plain; charset=utf-8";
    reply.headers = {{"X-Longship-From", std::to_string(from)}, {"X-Longship-Size", std::to_string(size)}};
  }
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> send_file(Exchange& exchange, const SendFile& action) {
  AskSite wanted = action.ask;
  const auto whole = co_await exchange.ask(wanted);
  if (whole.status != 200) {
    co_await exchange.send(reply_of(whole));
    co_return;
  }
  const auto part = action.range ? part_of(*action.range, whole.size) : std::optional(Part{0, whole.size});
  const auto name = wanted.name.substr(wanted.name.rfind('/') + 1);
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return c >= ' ' && c != '"' && c != '\\' && c < 127; });
  const Headers headers = {
      {"Content-Disposition", plain ? fmt::format("attachment; filename=\"{}\"", name) : "attachment"}};
  if (!co_await exchange.begin_part(part, whole.size, action.range.has_value(), headers)) co_return;
  for (std::uint64_t done = 0; done < part->length;) {
    wanted.offset = part->offset + done;
    wanted.length = std::min<std::uint64_t>(piece, part->length - done);
    const auto response = co_await exchange.ask(wanted);
    if (response.status != 200 || response.body.empty()) throw Error("the site does not answer any more");
    co_await exchange.send_piece(response.body);
    done += response.body.size();
  }
}

}  // namespace longship::hub::http
