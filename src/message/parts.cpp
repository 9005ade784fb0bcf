// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <cmath>

#include "formats/digest.h"
#include "read.h"

namespace longship::message {
namespace {

using formats::Fields;
using formats::Kind;

Blob read_blob(const Fields& fields) {
  Blob blob{fields.text("digest"), count(fields, "size")};
  if (!formats::is_digest(blob.digest))
    throw fields.wrong("digest", "expected sha256: and 64 hexadecimal digits, found \"{}\"",
                       blob.digest.substr(0, 100));
  return blob;
}

double read_value(const Fields& values, const std::string& key, const formats::Value& value) {
  if (value.is(Kind::integer) || value.is(Kind::number)) return value.number();
  if (value.is(Kind::text)) {
    if (value.text() == "nan") return std::nan("");
    if (value.text() == "inf") return HUGE_VAL;
    if (value.text() == "-inf") return -HUGE_VAL;
  }
  throw values.wrong(key, "expected a number, found {}", value.shown());
}

}  // namespace

void write_assignment(std::string& out, const Assignment& assignment) {
  ObjectWriter object(out);
  object.text("attempt", assignment.attempt.text());
  object.text("job", assignment.job);
  object.text_if("owner", assignment.owner);
  object.text_if("team", assignment.team);
  object.text_if("queue", assignment.queue);
  if (!assignment.code.digest.empty())
    object.object("code", [&](ObjectWriter& code) {
      code.text("digest", assignment.code.digest);
      code.integer("size", assignment.code.size);
    });
  object.text_if("image", assignment.image);
  if (assignment.resume) object.flag("resume", true);
}

Assignment read_assignment(const Fields& fields) {
  Assignment assignment;
  assignment.attempt = attempt(fields);
  assignment.job = fields.text("job");
  assignment.owner = fields.text("owner", "");
  assignment.team = fields.text("team", "");
  assignment.queue = fields.text("queue", "");
  if (const auto* code = fields.find("code")) assignment.code = read_blob(Fields(*code, "code"));
  assignment.image = fields.text("image", "");
  assignment.resume = fields.flag("resume", false);
  return assignment;
}

void write_metrics(ObjectWriter& object, const Metrics& metrics) {
  if (metrics.step == 0 && metrics.steps == 0 && metrics.values.empty()) return;
  object.object("metrics", [&](ObjectWriter& inner) {
    inner.integer("step", metrics.step);
    inner.integer("steps", metrics.steps);
    inner.list("values", metrics.values, [](std::string& out, const auto& value) {
      out += '[';
      append_text(out, value.first);
      out += ',';
      append_number(out, value.second);
      out += ']';
    });
  });
}

Metrics read_metrics(const Fields& fields) {
  Metrics metrics;
  const auto* value = fields.find("metrics");
  if (value == nullptr) return metrics;
  const Fields inner(*value, "metrics");
  metrics.step = count(inner, "step");
  metrics.steps = count(inner, "steps");
  const auto* values = inner.find("values");
  if (values == nullptr) return metrics;
  if (!values->is(Kind::array)) throw inner.wrong("values", "expected a list, found {}", values->shown());
  for (const auto& pair : values->array()) {
    if (!pair.is(Kind::array) || pair.array().size() != 2 || !pair.array()[0].is(Kind::text))
      throw inner.wrong("values", "expected pairs of a name and a number, found {}", pair.shown());
    metrics.values.emplace_back(pair.array()[0].text(), read_value(inner, "values", pair.array()[1]));
  }
  return metrics;
}

void write_attempts(ObjectWriter& object, std::string_view key, const std::vector<AttemptId>& attempts) {
  object.list(key, attempts, [](std::string& out, const AttemptId& id) { append_text(out, id.text()); });
}

void write_ended(ObjectWriter& object, const Ended& ended) {
  object.text("attempt", ended.attempt.text());
  object.text("outcome", name_of(ended.outcome));
  object.signed_integer("exit_code", ended.exit_code);
  object.text_if("reason", ended.reason);
  if (!ended.outputs.empty())
    object.list("outputs", ended.outputs, [](std::string& out, const Output& output) {
      ObjectWriter inner(out);
      inner.text("name", output.name);
      inner.integer("size", output.size);
    });
  object.integer("milliseconds",
                 static_cast<std::uint64_t>(std::max<std::int64_t>(ended.duration.count(), 0)));
  write_metrics(object, ended.metrics);
  if (ended.checkpoint) object.flag("checkpoint", true);
}

Ended read_ended(const Fields& fields) {
  Ended ended;
  ended.attempt = attempt(fields);
  fields.required("outcome");
  ended.outcome = fields.choice<Outcome>("outcome",
                                         {{"finished", Outcome::finished},
                                          {"failed", Outcome::failed},
                                          {"cancelled", Outcome::cancelled},
                                          {"timed_out", Outcome::timed_out},
                                          {"lost", Outcome::lost}},
                                         Outcome::lost);
  ended.exit_code = static_cast<int>(fields.integer("exit_code", {-1 << 30, 1 << 30}, 0));
  ended.reason = fields.text("reason", "");
  ended.outputs = list(fields, "outputs", [](const Fields& output) {
    return Output{output.text("name"), count(output, "size")};
  });
  ended.duration = std::chrono::milliseconds(count(fields, "milliseconds"));
  ended.metrics = read_metrics(fields);
  ended.checkpoint = fields.flag("checkpoint", false);
  return ended;
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished:
      return "finished";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timed_out:
      return "timed_out";
    case Outcome::lost:
      return "lost";
  }
  return "lost";
}

std::string_view name_of(StopReason reason) {
  return reason == StopReason::superseded ? "superseded" : "cancelled";
}

StopReason read_stop_reason(const Fields& fields) {
  return fields.choice<StopReason>(
      "reason", {{"cancelled", StopReason::cancelled}, {"superseded", StopReason::superseded}},
      StopReason::cancelled);
}

}  // namespace longship::message
