// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"
#include "formats/fields.h"

namespace longship::store {
namespace {

constexpr std::int64_t newest_version = 1;
constexpr std::size_t longest_name = 200;

using Texts = std::map<std::string, std::string>;

formats::Value table_of(const Texts& texts) {
  formats::Table table;
  for (const auto& [key, value] : texts) table.set(key, value);
  return table;
}

formats::Value list_of(const std::vector<std::string>& texts) {
  formats::Array list;
  for (const auto& text : texts) list.emplace_back(text);
  return list;
}

Texts texts_of(const formats::Fields& fields, std::string_view key) {
  Texts texts;
  if (const auto* table = fields.find(key))
    for (const auto& entry : table->table()) texts.emplace(entry.key, entry.value.text());
  return texts;
}

formats::Value to_json(const Config& config) {
  formats::Table table;
  table.set("environment", table_of(config.environment));
  table.set("working_directory", config.working_directory);
  table.set("entrypoint", list_of(config.entrypoint));
  table.set("command", list_of(config.command));
  table.set("labels", table_of(config.labels));
  table.set("user", config.user);
  return table;
}

Config config_from(const formats::Fields& fields) {
  Config config;
  config.environment = texts_of(fields, "environment");
  config.working_directory = fields.text("working_directory", "");
  config.entrypoint = fields.words("entrypoint");
  config.command = fields.words("command");
  config.labels = texts_of(fields, "labels");
  config.user = fields.text("user", "");
  return config;
}

}  // namespace

formats::Value to_json(const Image& image) {
  formats::Table facts;
  facts.set("architecture", image.facts.architecture);
  facts.set("libc", image.facts.libc);
  facts.set("system", image.facts.system);
  if (!image.facts.mpi.empty()) facts.set("mpi", image.facts.mpi);
  if (image.facts.software) facts.set("software", table_of(*image.facts.software));
  formats::Table table;
  table.set("version", newest_version);
  table.set("name", image.name);
  table.set("root", image.root);
  table.set("size", image.size);
  table.set("files", image.files);
  table.set("config", to_json(image.config));
  table.set("facts", std::move(facts));
  table.set("created", image.created);
  table.set("origin", image.origin);
  if (!image.pulled.empty()) table.set("pulled", list_of(image.pulled));
  return table;
}

Image image_from_json(const formats::Value& value) {
  // Keys that a later Longship added are not an error: images outlive programs.
  const formats::Fields fields(value, "");
  if (const auto found = fields.integer("version"); found != newest_version)
    throw Error("it was written by a newer Longship: version {}, and this one reads {}", found,
                newest_version);
  Image image;
  image.name = fields.text("name");
  image.root = fields.text("root");
  if (!formats::is_digest(image.root)) throw fields.wrong("root", "not a digest");
  constexpr formats::Range not_negative{0};
  image.size = static_cast<std::uint64_t>(fields.integer("size", not_negative));
  image.files = static_cast<std::uint64_t>(fields.integer("files", not_negative));
  image.created = fields.integer("created", not_negative);
  image.origin = fields.text("origin", "");
  image.pulled = fields.words("pulled");
  if (const auto* config = fields.find("config"))
    image.config = config_from(formats::Fields(*config, "config"));
  if (const auto* facts = fields.find("facts")) {
    const formats::Fields found(*facts, "facts");
    image.facts = {found.text("architecture", ""), found.text("libc", ""), found.text("system", ""),
                   found.text("mpi", "")};
    if (found.find("software") != nullptr) image.facts.software = texts_of(found, "software");
  }
  return image;
}

void validate_name(std::string_view name) {
  const auto wrong = [&](std::string_view why) {
    throw Error(Failure::usage, "\"{}\" cannot be the name of an image: {}", printable(name), why);
  };
  if (name.empty()) wrong("it is empty");
  if (name.size() > longest_name) wrong("it is too long");
  const auto colon = name.find(':');
  const std::string_view path = name.substr(0, colon);
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  const auto check = [&](std::string_view part) {
    if (part.empty()) wrong("a part of it is empty");
    if (part.front() == '.' || part.front() == '-') wrong("a part of it starts with \".\" or \"-\"");
    if (!std::all_of(part.begin(), part.end(), allowed))
      wrong("only a-z, 0-9, \".\", \"_\", \"-\", \"/\" and one \":\" are allowed");
  };
  for (const auto part : split(path, '/')) check(part);
  if (colon != std::string_view::npos) check(name.substr(colon + 1));
}

}  // namespace longship::store
