// SPDX-License-Identifier: Apache-2.0
#include "version.h"

#include <fmt/core.h>

#include <charconv>

namespace longship::fit {

std::optional<Version> Version::parse(std::string_view text) {
  Version version;
  const auto* at = text.data();
  const auto* const end = at + text.size();
  for (;;) {
    int part = 0;
    if (at == end || *at < '0' || *at > '9') break;
    const auto [stop, error] = std::from_chars(at, end, part);
    if (error != std::errc()) return {};
    version.parts_.push_back(part);
    if (stop == end || *stop != '.') break;
    at = stop + 1;
  }
  if (version.parts_.empty()) return {};
  version.drop_zeros();
  return version;
}

std::string Version::text() const {
  std::string text = fmt::format("{}", parts_.empty() ? 0 : parts_[0]);
  if (parts_.size() < 2) return text + ".0";
  for (std::size_t i = 1; i < parts_.size(); ++i) text += fmt::format(".{}", parts_[i]);
  return text;
}

void Version::drop_zeros() {
  while (!parts_.empty() && parts_.back() == 0) parts_.pop_back();
}

}  // namespace longship::fit
