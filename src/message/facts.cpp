// SPDX-License-Identifier: Apache-2.0
#include "facts.h"

#include "overloaded.h"
#include "parts.h"
#include "read.h"

namespace longship::message {

using formats::Fields;

void write_fact(std::string& out, const Fact& fact) {
  ObjectWriter object(out);
  std::visit(Overloaded{
                 [&](const Refused& refused) {
                   object.text("kind", "refused");
                   object.text("attempt", refused.attempt.text());
                   object.text("reason", refused.reason);
                 },
                 [&](const Preparing& preparing) {
                   object.text("kind", "preparing");
                   object.text("attempt", preparing.attempt.text());
                 },
                 [&](const Queued& queued) {
                   object.text("kind", "queued");
                   object.text("attempt", queued.attempt.text());
                   object.text("pilot", queued.pilot);
                   object.text_if("batch_job", queued.batch_job);
                 },
                 [&](const Started& started) {
                   object.text("kind", "started");
                   object.text("attempt", started.attempt.text());
                   object.text("pilot", started.pilot);
                   object.signed_integer("ranks", started.ranks);
                   object.texts("nodes", started.nodes);
                 },
                 [&](const Ended& ended) {
                   object.text("kind", "ended");
                   write_ended(object, ended);
                 },
             },
             fact);
}

Fact read_fact(const Fields& fields) {
  const auto kind = fields.text("kind");
  if (kind == "refused") return Refused{attempt(fields), fields.text("reason", "")};
  if (kind == "preparing") return Preparing{attempt(fields)};
  if (kind == "queued") return Queued{attempt(fields), fields.text("pilot"), fields.text("batch_job", "")};
  if (kind == "started")
    return Started{attempt(fields), fields.text("pilot"),
                   static_cast<int>(fields.integer("ranks", {1, 1 << 30}, 1)), fields.words("nodes")};
  if (kind == "ended") return read_ended(fields);
  throw fields.wrong("kind", "no fact is called \"{}\"; the agent may be newer than this hub", kind);
}

std::string encode(const Fact& fact) {
  std::string out;
  write_fact(out, fact);
  return out;
}

Fact decode_fact(std::string_view payload) {
  const auto document = formats::parse_json(payload, "a fact in the outbox");
  return read_fact(Fields(document, ""));
}

const AttemptId& attempt_of(const Fact& fact) {
  return std::visit([](const auto& any) -> const AttemptId& { return any.attempt; }, fact);
}

}  // namespace longship::message
