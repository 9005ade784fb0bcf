// SPDX-License-Identifier: Apache-2.0
#include "facts.h"
#include "frame.h"
#include "hub_messages.h"
#include "overloaded.h"
#include "parts.h"
#include "read.h"

namespace longship::message {
namespace {

using formats::Fields;

void write_alive(ObjectWriter& object, const Alive& alive) {
  object.text("kind", "alive");
  object.list("heard", alive.heard, [](std::string& out, const Alive::Attempt& heard) {
    ObjectWriter inner(out);
    inner.text("attempt", heard.attempt.text());
    write_metrics(inner, heard.metrics);
  });
  object.text_if("condition", alive.condition);
  object.list("waiting", alive.waiting, [](std::string& out, const Alive::Waiting& waiting) {
    ObjectWriter inner(out);
    inner.text("attempt", waiting.attempt.text());
    inner.text("reason", waiting.reason);
    if (waiting.expected_start != 0) inner.signed_integer("expected_start", waiting.expected_start);
  });
}

// The JSON; the payload, if there is one, is returned.
std::string_view write(ObjectWriter& object, const FromAgent& message) {
  std::string_view payload;
  std::visit(Overloaded{
                 [&](const Hello& hello) {
                   object.text("kind", "hello");
                   object.signed_integer("protocol", hello.protocol);
                   object.text("version", hello.version);
                   object.text("site", hello.site);
                   object.text("site_file", hello.site_file);
                   object.text("outbox", hello.outbox);
                   write_attempts(object, "attempts", hello.attempts);
                 },
                 [&](const Facts& facts) {
                   object.text("kind", "facts");
                   object.integer("first", facts.first);
                   object.list("facts", facts.facts, write_fact);
                 },
                 [&](const Alive& alive) { write_alive(object, alive); },
                 [&](const Fetch& fetch) {
                   object.text("kind", "fetch");
                   object.integer("id", fetch.id);
                   object.text("digest", fetch.digest);
                   object.integer("offset", fetch.offset);
                   object.integer("length", fetch.length);
                 },
                 [&](const Answer& answer) {
                   object.text("kind", "answer");
                   object.integer("id", answer.id);
                   object.text_if("error", answer.error);
                   object.integer("size", answer.size);
                   payload = answer.bytes;
                 },
             },
             message);
  return payload;
}

Hello read_hello(const Fields& fields) {
  Hello hello;
  hello.protocol = static_cast<int>(fields.integer("protocol", {1, 1 << 30}));
  hello.version = fields.text("version", "");
  hello.site = fields.text("site");
  hello.site_file = fields.text("site_file", "");
  hello.outbox = fields.text("outbox");
  hello.attempts = attempts(fields, "attempts");
  return hello;
}

Alive read_alive(const Fields& fields) {
  Alive alive;
  alive.heard = list(fields, "heard", [](const Fields& heard) {
    return Alive::Attempt{attempt(heard), read_metrics(heard)};
  });
  alive.condition = fields.text("condition", "");
  alive.waiting = list(fields, "waiting", [](const Fields& waiting) {
    return Alive::Waiting{attempt(waiting), waiting.text("reason", ""),
                          waiting.integer("expected_start", {0, largest}, 0)};
  });
  return alive;
}

FromAgent read_from_agent(const Fields& fields, std::string_view payload) {
  const auto kind = fields.text("kind");
  if (kind == "hello") return read_hello(fields);
  if (kind == "facts") return Facts{count(fields, "first"), list(fields, "facts", read_fact)};
  if (kind == "alive") return read_alive(fields);
  if (kind == "fetch")
    return Fetch{count(fields, "id"), fields.text("digest"), count(fields, "offset"),
                 count(fields, "length")};
  if (kind == "answer")
    return Answer{count(fields, "id"), fields.text("error", ""), count(fields, "size"), std::string(payload)};
  throw fields.wrong("kind", "no message of an agent is called \"{}\"; the agent may be newer than this hub",
                     kind);
}

}  // namespace

std::string encode(const FromAgent& message) {
  auto frame = begin_frame();
  std::string_view payload;
  {
    ObjectWriter object(frame);
    payload = write(object, message);
  }
  finish_frame(frame, payload);
  return frame;
}

std::string encode(const WrittenFacts& facts) {
  auto frame = begin_frame();
  {
    ObjectWriter object(frame);
    object.text("kind", "facts");
    object.integer("first", facts.first);
    object.list("facts", facts.facts, [](std::string& out, const std::string& fact) { out += fact; });
  }
  finish_frame(frame, {});
  return frame;
}

FromAgent decode_from_agent(std::string_view frame) {
  const auto parts = parts_of(frame);
  const auto document = formats::parse_json(parts.json, "a message of the agent");
  return read_from_agent(Fields(document, ""), parts.payload);
}

}  // namespace longship::message
