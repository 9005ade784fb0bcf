// SPDX-License-Identifier: Apache-2.0
// Each message is an object whose "kind" says which; a record's payload is a list of them.
#include "pilot_messages.h"

#include "formats/document.h"
#include "overloaded.h"
#include "parts.h"
#include "read.h"

namespace longship::message {
namespace {

using formats::Fields;

void write(std::string& out, const ToPilot& message) {
  ObjectWriter object(out);
  std::visit(Overloaded{
                 [&](const Take& take) {
                   object.text("kind", "take");
                   object.member("assignment",
                                 [&](std::string& text) { write_assignment(text, take.assignment); });
                 },
                 [&](const Stop& stop) {
                   object.text("kind", "stop");
                   object.text("attempt", stop.attempt.text());
                   object.text("reason", name_of(stop.reason));
                 },
                 [&](const Leave&) { object.text("kind", "leave"); },
             },
             message);
}

ToPilot read_to_pilot(const Fields& fields) {
  const auto kind = fields.text("kind");
  if (kind == "take") return Take{read_assignment(Fields(fields.required("assignment"), "assignment"))};
  if (kind == "stop") return Stop{attempt(fields), read_stop_reason(fields)};
  if (kind == "leave") return Leave{};
  throw fields.wrong("kind", "no message to a pilot is called \"{}\"; the agent may be newer than this pilot",
                     kind);
}

void write(std::string& out, const FromPilot& message) {
  ObjectWriter object(out);
  std::visit(Overloaded{
                 [&](const Began& began) {
                   object.text("kind", "began");
                   object.texts("nodes", began.nodes);
                   object.signed_integer("time_left", began.time_left.count());
                 },
                 [&](const Running& running) {
                   object.text("kind", "running");
                   object.text("attempt", running.attempt.text());
                   object.signed_integer("ranks", running.ranks);
                   object.texts("nodes", running.nodes);
                 },
                 [&](const Beat& beat) {
                   object.text("kind", "beat");
                   write_attempts(object, "running", beat.running);
                   write_metrics(object, beat.metrics);
                 },
                 [&](const Ended& ended) {
                   object.text("kind", "ended");
                   write_ended(object, ended);
                 },
                 [&](const Left& left) {
                   object.text("kind", "left");
                   object.text("reason", left.reason);
                 },
             },
             message);
}

FromPilot read_from_pilot(const Fields& fields) {
  const auto kind = fields.text("kind");
  if (kind == "began")
    return Began{fields.words("nodes"), std::chrono::seconds(fields.integer("time_left", {0, largest}, 0))};
  if (kind == "running")
    return Running{attempt(fields), static_cast<int>(fields.integer("ranks", {1, 1 << 30}, 1)),
                   fields.words("nodes")};
  if (kind == "beat") return Beat{attempts(fields, "running"), read_metrics(fields)};
  if (kind == "ended") return read_ended(fields);
  if (kind == "left") return Left{fields.text("reason", "")};
  throw fields.wrong("kind", "no message of a pilot is called \"{}\"; the pilot may be newer than this agent",
                     kind);
}

template <class Message>
std::string encode_list(const std::vector<Message>& messages) {
  std::string out;
  out.reserve(256 * messages.size());
  ObjectWriter::append_list(out, messages,
                            [](std::string& text, const Message& message) { write(text, message); });
  return out;
}

template <class Read>
auto decode_list(std::string_view payload, std::string_view origin, Read&& read) {
  const auto document = formats::parse_json(payload, origin);
  std::vector<decltype(read(std::declval<const Fields&>()))> messages;
  messages.reserve(document.array().size());
  for (const auto& message : document.array()) messages.push_back(read(Fields(message, "")));
  return messages;
}

}  // namespace

std::string encode(const std::vector<ToPilot>& messages) {
  return encode_list(messages);
}

std::string encode(const std::vector<FromPilot>& messages) {
  return encode_list(messages);
}

std::vector<ToPilot> decode_to_pilot(std::string_view payload) {
  return decode_list(payload, "to_pilot", read_to_pilot);
}

std::vector<FromPilot> decode_from_pilot(std::string_view payload) {
  return decode_list(payload, "from_pilot", read_from_pilot);
}

}  // namespace longship::message
