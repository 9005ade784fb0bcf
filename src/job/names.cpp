// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/paths.h"
#include "base/text.h"
#include "formats/digest.h"

namespace longship::job {
namespace {

constexpr std::string_view lower = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view any_case = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool consists_of(std::string_view text, std::string_view letters, std::string_view also = {}) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letters.find(c) != std::string_view::npos || also.find(c) != std::string_view::npos;
  });
}

// A part of an image's or a dataset's name: lower case, with dots, underscores and hyphens between letters.
bool is_component(std::string_view part) {
  return !part.empty() && part.size() <= 128 && consists_of(part, lower, "._-") &&
         consists_of(part.substr(0, 1), lower) && consists_of(part.substr(part.size() - 1), lower);
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= 128 && consists_of(tag, any_case, "_.-") &&
         consists_of(tag.substr(0, 1), any_case, "_");
}

bool is_host(std::string_view text) {
  const auto colon = text.find(':');
  const auto host = text.substr(0, colon);
  if (host.empty() || !consists_of(host, any_case, ".-")) return false;
  if (colon == std::string_view::npos) return host.find('.') != std::string_view::npos || host == "localhost";
  const auto port = text.substr(colon + 1);
  return !port.empty() && port.size() <= 5 && consists_of(port, "0123456789");
}

bool has_parent_step(std::string_view path) {
  const auto parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

bool has_null(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

// Cuts the part after the last separator off the text, if there is one.
std::optional<std::string_view> cut_after(std::string_view& text, char separator) {
  const auto found = text.rfind(separator);
  if (found == std::string_view::npos) return {};
  const auto tail = text.substr(found + 1);
  text = text.substr(0, found);
  return tail;
}

}  // namespace

Complaint job_name_complaint(std::string_view name) {
  if (!name.empty() && name.size() <= 63 && name.front() != '-' && consists_of(name, lower, "-")) return {};
  return fmt::format("\"{}\" is not a job name: up to 63 small letters, digits and hyphens, no hyphen first",
                     printable(name));
}

Complaint image_complaint(std::string_view reference) {
  const auto wrong = [whole = reference](std::string_view what) {
    return fmt::format("\"{}\" is not an image: {}", printable(whole), what);
  };
  if (is_path(reference))
    return has_null(reference) ? Complaint(wrong("a path holds no null character")) : std::nullopt;
  if (const auto digest = cut_after(reference, '@'); digest && !formats::is_digest(*digest))
    return wrong("after the @ comes sha256: and 64 hexadecimal digits");
  // A colon before the last slash is a port's, not a tag's.
  if (const auto colon = reference.rfind(':');
      colon != std::string_view::npos && reference.find('/', colon) == std::string_view::npos)
    if (const auto tag = cut_after(reference, ':'); !is_tag(*tag))
      return wrong("the tag after the colon is not valid");
  auto parts = split(reference, '/');
  if (parts.size() > 1 && is_host(parts.front())) parts.erase(parts.begin());
  if (std::all_of(parts.begin(), parts.end(), is_component)) return {};
  return wrong("a name has small letters, digits and . _ - between them; a path starts with / or ./");
}

Complaint dataset_complaint(std::string_view dataset) {
  const auto whole = dataset;
  if (has_null(dataset)) return "a name holds no null character";
  if (is_path(dataset)) return {};
  if (const auto scheme = dataset.find("://"); scheme != std::string_view::npos) {
    const std::array<std::string, 3> known = {"s3", "http", "https"};
    const auto given = dataset.substr(0, scheme);
    if (std::find(known.begin(), known.end(), given) == known.end())
      return fmt::format("\"{}\": only s3://, http:// and https:// are known{}", printable(whole),
                         suggestion(given, known));
    if (dataset.size() == scheme + 3 || dataset[scheme + 3] == '/')
      return fmt::format("\"{}\": nothing stands after ://", printable(whole));
    return {};
  }
  const auto version = cut_after(dataset, '@');
  const auto parts = split(dataset, '/');
  if (parts.size() == 2 && is_component(parts[0]) && is_component(parts[1]) && (!version || is_tag(*version)))
    return {};
  return fmt::format(
      "\"{}\" is not a dataset: write team/name or team/name@version, s3://bucket/prefix, or a path "
      "that starts with / or ./",
      printable(whole));
}

Complaint mount_point_complaint(std::string_view path) {
  if (!path.starts_with('/')) return fmt::format("expected an absolute path, found \"{}\"", printable(path));
  if (has_null(path) || has_parent_step(path) || path.find_first_not_of('/') == std::string_view::npos)
    return fmt::format("\"{}\" is not a place for data", printable(path));
  constexpr std::array<std::string_view, 4> ours = {"/proc", "/sys", "/dev", "/opt/longship"};
  for (const auto reserved : ours)
    if (path == reserved || (path.starts_with(reserved) && path[reserved.size()] == '/'))
      return fmt::format("\"{}\" is not a place for data: {} belongs to the box", printable(path), reserved);
  return {};
}

Complaint output_complaint(std::string_view pattern) {
  if (pattern.empty() || has_null(pattern)) return "an output needs a name";
  if (pattern.starts_with('/'))
    return fmt::format("\"{}\" is an absolute path: outputs are named from the working directory on",
                       printable(pattern));
  if (has_parent_step(pattern))
    return fmt::format("\"{}\" leads out of the working directory", printable(pattern));
  return {};
}

Complaint variable_complaint(std::string_view variable) {
  constexpr std::array<std::string_view, 6> ours = {
      "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  if (std::find(ours.begin(), ours.end(), variable) != ours.end())
    return "Longship sets this variable itself, for each rank";
  const bool valid = !variable.empty() && consists_of(variable, any_case, "_") &&
                     std::string_view("0123456789").find(variable.front()) == std::string_view::npos;
  if (valid) return {};
  return "not the name of a variable: letters, digits and underscores, no digit first";
}

}  // namespace longship::job
