// SPDX-License-Identifier: Apache-2.0
// A record is 'A' and Takes, as a pilot would get them, or 'E' and a JSON list of everything else.
#include "journal.h"

#include "base/error.h"
#include "formats/fields.h"
#include "message/pilot_messages.h"

namespace longship::agent {
namespace {

using formats::Table;
using formats::Value;

constexpr formats::Range counts{0, std::int64_t{1} << 31};
constexpr formats::Range sizes{0, std::numeric_limits<std::int64_t>::max()};

Table named(std::string_view kind, const std::string& pilot) {
  Table table;
  table.set("kind", kind);
  table.set("pilot", pilot);
  return table;
}

Table to_table(const Made& made) {
  Table table = named("made", made.pilot);
  table.set("queue", made.shape.queue);
  table.set("nodes", made.shape.nodes);
  table.set("ranks_per_node", made.shape.ranks_per_node);
  table.set("threads_per_rank", made.shape.threads_per_rank);
  table.set("gpus_per_rank", made.shape.gpus_per_rank);
  table.set("memory_per_node", made.shape.memory_per_node);
  table.set("account", made.shape.account);
  table.set("walltime", made.walltime.count());
  return table;
}

Table to_table(const Submitted& submitted) {
  Table table = named("submitted", submitted.pilot);
  table.set("batch_job", submitted.batch_job);
  return table;
}

Table to_table(const Returned& returned) {
  Table table = named("returned", returned.pilot);
  table.set("attempt", returned.attempt.text());
  return table;
}

Table to_table(const Abandoned& abandoned) {
  return named("abandoned", abandoned.pilot);
}

Table to_table(const Gone& gone) {
  return named("gone", gone.pilot);
}

Table to_table(const Accepted&) {
  throw Error("an accepted attempt has a journal record of its own");
}

Made made_from(const formats::Fields& fields) {
  Made made;
  made.pilot = fields.text("pilot");
  made.shape.queue = fields.text("queue");
  made.shape.nodes = static_cast<int>(fields.integer("nodes", counts));
  made.shape.ranks_per_node = static_cast<int>(fields.integer("ranks_per_node", counts));
  made.shape.threads_per_rank = static_cast<int>(fields.integer("threads_per_rank", counts));
  made.shape.gpus_per_rank = static_cast<int>(fields.integer("gpus_per_rank", counts));
  made.shape.memory_per_node = static_cast<std::uint64_t>(fields.integer("memory_per_node", sizes));
  made.shape.account = fields.text("account");
  made.walltime = std::chrono::seconds(fields.integer("walltime", sizes));
  return made;
}

Entry entry_from(const Value& value) {
  const formats::Fields fields(value, "entry");
  const auto kind = fields.text("kind");
  const auto pilot = fields.text("pilot");
  if (kind == "made") return made_from(fields);
  if (kind == "submitted") return Submitted{pilot, fields.text("batch_job")};
  if (kind == "returned") return Returned{pilot, message::AttemptId::parse(fields.text("attempt"))};
  if (kind == "abandoned") return Abandoned{pilot};
  if (kind == "gone") return Gone{pilot};
  throw Error("the journal has an entry \"{}\" that this version does not know", kind);
}

std::vector<Entry> accepted_from(std::string_view takes) {
  std::vector<Entry> entries;
  for (auto& told : message::decode_to_pilot(takes))
    if (auto* take = std::get_if<message::Take>(&told))
      entries.push_back(Accepted{std::move(take->assignment)});
  return entries;
}

}  // namespace

std::vector<std::string> encode(const std::vector<Entry>& entries) {
  constexpr std::size_t in_one_record = 1000;  // an assignment has a kilobyte or so; a record at most 16 MiB
  std::vector<std::string> payloads;
  std::vector<message::ToPilot> takes;
  const auto flush = [&] {
    if (!takes.empty()) payloads.push_back("A" + message::encode(takes));
    takes.clear();
  };
  formats::Array others;
  std::size_t bytes = 0;
  for (const auto& entry : entries) {
    if (const auto* accepted = std::get_if<Accepted>(&entry)) {
      bytes += accepted->assignment.job.size() + accepted->assignment.image.size();
      takes.push_back(message::Take{accepted->assignment});
      if (takes.size() == in_one_record || bytes > (std::size_t{2} << 20)) flush(), bytes = 0;
    } else {
      others.push_back(std::visit([](const auto& one) { return Value(to_table(one)); }, entry));
    }
  }
  flush();
  if (!others.empty()) payloads.push_back("E" + formats::dump_json(Value(std::move(others))));
  return payloads;
}

std::vector<Entry> decode_entries(std::string_view payload) {
  return within("journal", [&] {
    if (payload.empty()) throw Error("an empty record");
    if (payload.front() == 'A') return accepted_from(payload.substr(1));
    if (payload.front() != 'E') throw Error("a record of a kind that this version does not know");
    std::vector<Entry> entries;
    const auto values = formats::parse_json(payload.substr(1), "record");
    for (const auto& value : values.array()) entries.push_back(entry_from(value));
    return entries;
  });
}

}  // namespace longship::agent
