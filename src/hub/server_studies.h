// SPDX-License-Identifier: Apache-2.0
// Studies in and out. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "route.h"
#include "studies.h"

namespace longship::hub::http {

inline awaitable<void> study_list(Exchange& exchange) {
  Reply reply;
  reply.body = exchange.shared->hub.studies().list(exchange.caller);
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> study_get(Exchange& exchange, const StudyGet& action) {
  auto found = exchange.shared->hub.studies().find(exchange.caller, action.owner, action.name);
  Reply reply;
  if (found)
    reply.body = std::move(*found);
  else
    reply = refusal(
        404, fmt::format("there is no study {} of {}", printable(action.name), printable(action.owner)));
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> study_put(Exchange& exchange, const StudyPut& action, std::string_view body) {
  Reply reply{.status = 201};
  try {
    exchange.shared->hub.studies().put(exchange.caller, action.name, body);
    formats::Table table;
    table.set("owner", exchange.caller.user);
    table.set("name", action.name);
    reply.body = formats::dump_json(table);
  } catch (const Error& error) {
    reply = refusal(error.number() == 0 ? 400 : 503, error.what());  // 503: the disk
  }
  co_await exchange.send(std::move(reply));
}

}  // namespace longship::hub::http
