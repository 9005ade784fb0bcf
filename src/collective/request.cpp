// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <cstring>

#include "base/error.h"
#include "codec.h"

namespace longship::collective {

std::string_view name_of(Kind kind) {
  constexpr std::string_view names[kind_count] = {"all-reduce", "broadcast", "all-gather", "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

std::vector<std::byte> encoded(const Report& report) {
  Encoder out;
  out.put(static_cast<std::uint8_t>(report.leaving));
  out.put(static_cast<std::uint32_t>(report.announcements.size()));
  for (const auto& announcement : report.announcements) {
    out.put(announcement.kind);
    out.put(announcement.type);
    out.put(announcement.op);
    out.put(static_cast<std::int32_t>(announcement.root));
    out.put(announcement.count);
    out.put(announcement.name);
  }
  return out.take();
}

Report decoded_report(std::span<const std::byte> bytes) {
  Decoder in(bytes);
  Report report;
  report.leaving = in.get<std::uint8_t>() != 0;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& announcement = report.announcements.emplace_back();
    announcement.kind = in.get_below<Kind>(kind_count);
    announcement.type = in.get_below<Type>(type_count);
    announcement.op = in.get_below<Op>(op_count);
    announcement.root = in.get<std::int32_t>();
    announcement.count = in.get<std::uint64_t>();
    announcement.name = in.text();
  }
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
  in.expect_end();
  return decision;
}

}  // namespace longship::collective
