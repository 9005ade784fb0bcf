// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <cstring>

#include "base/error.h"
#include "codec.h"
#include "ranks.h"

namespace longship::collective {
namespace {

void put(Encoder& out, const Announcement& one) {
  out.put(one.kind);
  out.put(one.type);
  out.put(one.op);
  out.put(static_cast<std::int32_t>(one.root));
  out.put(one.count);
  out.put(one.name);
  out.put(static_cast<std::int32_t>(one.set));
  out.put(one.prescale);
  out.put(one.postscale);
  out.put(one.row);
  out.put(one.group);
  out.put(one.group_size);
  out.put(static_cast<std::uint32_t>(one.members.size()));
  for (const int rank : one.members) out.put(static_cast<std::int32_t>(rank));
  out.put(one.wire);
  out.put(static_cast<std::uint8_t>(one.device));
}

void put(Encoder& out, const std::vector<NumberRange>& ranges) {
  out.put(static_cast<std::uint32_t>(ranges.size()));
  for (const auto& [first, count] : ranges) {
    out.put(first);
    out.put(count);
  }
}

std::vector<NumberRange> number_ranges(Decoder& in) {
  std::vector<NumberRange> ranges;
  const auto size = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto first = in.get<std::uint32_t>();
    ranges.push_back({first, in.get<std::uint32_t>()});
  }
  return ranges;
}

Announcement announcement(Decoder& in) {
  Announcement one;
  one.kind = in.get_below<Kind>(kind_count);
  one.type = in.get_below<Type>(type_count);
  one.op = in.get_below<Op>(op_count);
  one.root = in.get<std::int32_t>();
  one.count = in.get<std::uint64_t>();
  one.name = in.text();
  one.set = in.get<std::int32_t>();
  one.prescale = in.get<double>();
  one.postscale = in.get<double>();
  one.row = in.get<std::uint64_t>();
  one.group = in.text();
  one.group_size = in.get<std::uint32_t>();
  const auto members = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < members; ++i) one.members.push_back(in.get<std::int32_t>());
  one.wire = in.get_below<Type>(type_count);
  one.device = in.get<std::uint8_t>() != 0;
  return one;
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string scales(const Announcement& one) {
  if (one.prescale == 1 && one.postscale == 1) return {};
  return fmt::format(" scaled by {} and {}", one.prescale, one.postscale);
}

std::string how(const Announcement& one) {
  if (one.device) return " on GPUs";
  return one.is_narrowed() ? fmt::format(" sent as {}", name_of(one.wire)) : "";
}

}  // namespace

std::string_view name_of(Kind kind) {
  constexpr std::string_view names[kind_count] = {"all-reduce", "broadcast",         "all-gather",
                                                  "barrier",    "all-to-all",        "reduce-scatter",
                                                  "join",       "add a process set", "remove a process set"};
  return names[static_cast<std::size_t>(kind)];
}

bool agree(const Announcement& a, const Announcement& b) {
  if (a.kind != b.kind || a.type != b.type || a.wire != b.wire || a.device != b.device ||
      a.group != b.group || a.group_size != b.group_size)
    return false;
  switch (a.kind) {
    case Kind::allreduce:
    case Kind::reducescatter:
      return a.op == b.op && a.count == b.count && a.row == b.row && a.prescale == b.prescale &&
             a.postscale == b.postscale;
    case Kind::broadcast:
      return a.root == b.root && a.count == b.count;
    case Kind::remove_set:
      return a.root == b.root;
    case Kind::add_set:
      return a.members == b.members;
    case Kind::allgather:
    case Kind::alltoall:
    case Kind::barrier:
    case Kind::join:
      break;
  }
  return true;
}

std::string described(const Announcement& one) {
  const std::string group =
      one.group.empty() ? "" : fmt::format(" in group \"{}\" of {}", one.group, one.group_size);
  switch (one.kind) {
    case Kind::allreduce:
    case Kind::reducescatter:
      return fmt::format("{} ({}) of {} {}{}{}{}{}", name_of(one.kind), name_of(one.op), one.count,
                         name_of(one.type), how(one),
                         one.row > 1 ? fmt::format(" in rows of {}", one.row) : "", scales(one), group);
    case Kind::broadcast:
      return fmt::format("broadcast from rank {} of {} {}{}{}", one.root, one.count, name_of(one.type),
                         how(one), group);
    case Kind::allgather:
    case Kind::alltoall:
      return fmt::format("{} of {}{}{}", name_of(one.kind), name_of(one.type), how(one), group);
    case Kind::add_set:
      return fmt::format("a process set of {}", the_ranks(one.members));
    case Kind::remove_set:
      return fmt::format("removal of process set {}", one.root);
    case Kind::barrier:
    case Kind::join:
      break;
  }
  return std::string(name_of(one.kind)) + group;
}

std::vector<std::byte> encoded(const Report& report) {
  Encoder out;
  out.put(static_cast<std::uint8_t>(report.leaving));
  out.put(static_cast<std::uint32_t>(report.announcements.size()));
  for (const auto& one : report.announcements) put(out, one);
  out.put(static_cast<std::uint8_t>(report.about_waiting));
  out.put(report.answered);
  out.put(static_cast<std::uint32_t>(report.awaited.size()));
  for (const auto& [set, name] : report.awaited) {
    out.put(static_cast<std::int32_t>(set));
    out.put(name);
  }
  put(out, report.numbers);
  out.put(text_of(report.values));
  return out.take();
}

Report decoded_report(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  Report report;
  report.leaving = in.get<std::uint8_t>() != 0;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) report.announcements.push_back(announcement(in));
  report.about_waiting = in.get<std::uint8_t>() != 0;
  report.answered = in.get<std::uint64_t>();
  const auto awaited = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < awaited; ++i) {
    const int set = in.get<std::int32_t>();
    report.awaited.push_back({set, in.text()});
  }
  report.numbers = number_ranges(in);
  report.values = bytes_of(in.text());
  in.expect_end();
  return report;
}

std::vector<std::byte> encoded(const Decision& decision) {
  Encoder out;
  out.put(decision.error);
  out.put(static_cast<std::uint32_t>(decision.names.size()));
  for (const auto& name : decision.names) out.put(name);
  out.put(static_cast<std::uint32_t>(decision.counts.size()));
  for (const auto count : decision.counts) out.put(count);
  out.put(static_cast<std::uint32_t>(decision.to.size()));
  for (const auto rank : decision.to) out.put(rank);
  out.put(static_cast<std::int32_t>(decision.set));
  out.put(decision.sequence);
  out.put(decision.bytes);
  out.put(decision.way);
  put(out, decision.numbers);
  out.put(static_cast<std::uint32_t>(decision.details.size()));
  for (const auto& one : decision.details) put(out, one);
  out.put(text_of(decision.values));
  return out.take();
}

Decision decoded_decision(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  Decision decision;
  decision.error = in.text();
  const auto names = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < names; ++i) decision.names.push_back(in.text());
  const auto counts = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < counts; ++i) decision.counts.push_back(in.get<std::uint64_t>());
  const auto ranks = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < ranks; ++i) decision.to.push_back(in.get<std::int32_t>());
  decision.set = in.get<std::int32_t>();
  decision.sequence = in.get<std::uint64_t>();
  decision.bytes = in.get<std::uint64_t>();
  decision.way = in.get_below<Way>(way_count);
  decision.numbers = number_ranges(in);
  const auto details = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < details; ++i) decision.details.push_back(announcement(in));
  decision.values = bytes_of(in.text());
  in.expect_end();
  return decision;
}

}  // namespace longship::collective
