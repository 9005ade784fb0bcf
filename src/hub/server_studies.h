// SPDX-License-Identifier: Apache-2.0
// Studies in and out. A part of server.cpp.
#pragma once
#include "server_exchange.h"  // first: see there

#include "route.h"
#include "studies.h"
#include "study_journals.h"

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
    reply = refusal(error);
  }
  co_await exchange.send(std::move(reply));
}

// --- journals of studies that live here ---

inline Reply study_refusal(const Error& error) {
  if (dynamic_cast<const StudyConflict*>(&error) != nullptr) return refusal(409, error.what());
  return refusal(error);
}

// "-": whoever asks, who need not know what the hub calls him.
inline std::string owner_meant(const Exchange& exchange, const std::string& owner) {
  return owner == "-" ? exchange.caller.user : owner;
}

inline bool may_read_journal(Exchange& exchange, const std::string& owner, const std::string& name) {
  return exchange.shared->hub.studies().may_read(exchange.caller, owner, name) &&
         !exchange.shared->hub.study_journals().logs({owner, name}).empty();
}

inline Reply no_journal(const std::string& owner, const std::string& name) {
  return refusal(404,
                 fmt::format("there is no journal of a study {} of {}", printable(name), printable(owner)));
}

inline awaitable<void> study_logs(Exchange& exchange, const StudyLogs& action) {
  Reply reply;
  const auto owner = owner_meant(exchange, action.owner);
  if (may_read_journal(exchange, owner, action.name)) {
    formats::Table sizes, table;
    for (const auto& log : exchange.shared->hub.study_journals().logs({owner, action.name}))
      sizes.set(log.name, static_cast<std::int64_t>(log.bytes));
    table.set("logs", std::move(sizes));
    reply.body = formats::dump_json(table);
  } else {
    reply = no_journal(owner, action.name);
  }
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> study_log(Exchange& exchange, const StudyLogGet& action) {
  Reply reply{.type = "application/octet-stream"};
  const auto owner = owner_meant(exchange, action.owner);
  try {
    if (may_read_journal(exchange, owner, action.name))
      reply.body = exchange.shared->hub.study_journals().read({owner, action.name}, action.log, action.from);
    else
      reply = no_journal(owner, action.name);
  } catch (const Error& error) {
    reply = study_refusal(error);
  }
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> study_run(Exchange& exchange, const StudyRun& action) {
  Reply reply;
  try {
    exchange.shared->hub.study_journals().carry_out({exchange.caller.user, action.name}, action.run);
    formats::Table table;
    table.set("owner", exchange.caller.user);
    reply.body = formats::dump_json(table);
  } catch (const Error& error) {
    reply = study_refusal(error);
  }
  co_await exchange.send(std::move(reply));
}

inline awaitable<void> study_log_put(Exchange& exchange, const StudyLogPut& action, std::string_view body) {
  Reply reply;
  try {
    const auto bytes = exchange.shared->hub.study_journals().append(
        {exchange.caller.user, action.name}, {action.log, action.run, action.at}, body);
    formats::Table table;
    table.set("bytes", static_cast<std::int64_t>(bytes));
    reply.body = formats::dump_json(table);
  } catch (const Error& error) {
    reply = study_refusal(error);
  }
  co_await exchange.send(std::move(reply));
}

}  // namespace longship::hub::http
