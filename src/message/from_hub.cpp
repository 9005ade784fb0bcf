// SPDX-License-Identifier: Apache-2.0
#include "frame.h"
#include "hub_messages.h"
#include "overloaded.h"
#include "parts.h"
#include "read.h"

namespace longship::message {
namespace {

using formats::Fields;

std::string_view name_of(About about) {
  switch (about) {
    case About::file:
      return "file";
    case About::metrics:
      return "metrics";
    case About::report:
      return "report";
  }
  return "file";
}

void write_assignments(ObjectWriter& object, const std::vector<Assignment>& assignments) {
  object.list("assignments", assignments, write_assignment);
}

void write_question(ObjectWriter& object, const Question& question) {
  object.text("kind", "question");
  object.integer("id", question.id);
  object.text("attempt", question.attempt.text());
  object.text("about", name_of(question.about));
  object.text_if("name", question.name);
  object.integer("offset", question.offset);
  object.integer("length", question.length);
}

// The JSON; the payload, if there is one, is returned.
std::string_view write(ObjectWriter& object, const FromHub& message) {
  std::string_view payload;
  std::visit(Overloaded{
                 [&](const Welcome& welcome) {
                   object.text("kind", "welcome");
                   object.integer("seen", welcome.seen);
                 },
                 [&](const Want& want) {
                   object.text("kind", "want");
                   write_assignments(object, want.assignments);
                   if (want.more) object.flag("more", true);
                 },
                 [&](const Carry& carry) {
                   object.text("kind", "carry");
                   write_assignments(object, carry.assignments);
                 },
                 [&](const StopAttempts& stop) {
                   object.text("kind", "stop");
                   write_attempts(object, "attempts", stop.attempts);
                   object.text("reason", message::name_of(stop.reason));
                 },
                 [&](const Seen& seen) {
                   object.text("kind", "seen");
                   object.integer("seen", seen.seen);
                 },
                 [&](const Chunk& chunk) {
                   object.text("kind", "chunk");
                   object.integer("id", chunk.id);
                   object.text_if("error", chunk.error);
                   payload = chunk.bytes;
                 },
                 [&](const Question& question) { write_question(object, question); },
                 [&](const Discard& discard) {
                   object.text("kind", "discard");
                   write_attempts(object, "attempts", discard.attempts);
                 },
                 [&](const Goodbye& goodbye) {
                   object.text("kind", "goodbye");
                   object.text("reason", goodbye.reason);
                 },
             },
             message);
  return payload;
}

std::vector<Assignment> read_assignments(const Fields& fields) {
  return list(fields, "assignments", read_assignment);
}

Question read_question(const Fields& fields) {
  Question question;
  question.id = count(fields, "id");
  question.attempt = attempt(fields);
  question.about = fields.choice<About>(
      "about", {{"file", About::file}, {"metrics", About::metrics}, {"report", About::report}}, About::file);
  question.name = fields.text("name", "");
  question.offset = count(fields, "offset");
  question.length = count(fields, "length");
  return question;
}

FromHub read_from_hub(const Fields& fields, std::string_view payload) {
  const auto kind = fields.text("kind");
  if (kind == "welcome") return Welcome{count(fields, "seen")};
  if (kind == "want") return Want{read_assignments(fields), fields.flag("more", false)};
  if (kind == "carry") return Carry{read_assignments(fields)};
  if (kind == "stop") return StopAttempts{attempts(fields, "attempts"), read_stop_reason(fields)};
  if (kind == "seen") return Seen{count(fields, "seen")};
  if (kind == "chunk") return Chunk{count(fields, "id"), fields.text("error", ""), std::string(payload)};
  if (kind == "question") return read_question(fields);
  if (kind == "discard") return Discard{attempts(fields, "attempts")};
  if (kind == "goodbye") return Goodbye{fields.text("reason", "")};
  throw fields.wrong("kind", "no message of a hub is called \"{}\"; the hub may be newer than this agent",
                     kind);
}

}  // namespace

std::string encode(const FromHub& message) {
  auto frame = begin_frame();
  std::string_view payload;
  {
    ObjectWriter object(frame);
    payload = write(object, message);
  }
  finish_frame(frame, payload);
  return frame;
}

FromHub decode_from_hub(std::string_view frame) {
  const auto parts = parts_of(frame);
  const auto document = formats::parse_json(parts.json, "a message of the hub");
  return read_from_hub(Fields(document, ""), parts.payload);
}

}  // namespace longship::message
