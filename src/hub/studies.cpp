// SPDX-License-Identifier: Apache-2.0
#include "studies.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "formats/digest.h"
#include "formats/fields.h"
#include "job/names.h"

namespace longship::hub {
namespace {

namespace fs = std::filesystem;
using formats::Table;
using formats::Value;

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string text_at(const Value& value, std::string_view key) {
  const auto* found = value.find(key);
  return found != nullptr && found->is(formats::Kind::text) ? found->text() : std::string();
}

// What the portal draws has to be there, and of its kind.
void check(const Value& study, const std::string& name) {
  const formats::Fields fields(study, "");
  if (fields.text("name") != name)
    throw fields.wrong("name", "the address says {}, the study {}", name, fields.text("name"));
  if (const auto complaint = job::job_name_complaint(name); complaint)
    throw fields.wrong("name", "{}", *complaint);
  for (const auto* key : {"objectives", "best", "parameters", "importance", "trials"})
    static_cast<void>(fields.required(key).array());
  static_cast<void>(fields.required("counts").table());
}

Table head_of(const Value& study, const Caller& caller) {
  Table head;
  head.set("name", text_at(study, "name"));
  head.set("owner", caller.user);
  head.set("team", caller.team);
  head.set("updated", seconds_now());
  for (const auto* key : {"objectives", "counts", "best"}) head.set(key, *study.find(key));
  return head;
}

std::optional<Value> read_head(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  return formats::parse_json(read_file(file, Studies::largest), file.string());
}

}  // namespace

Studies::Studies(fs::path directory, std::string owner)
    : directory_(std::move(directory)), owner_(std::move(owner)) {
  fs::create_directories(directory_);
}

fs::path Studies::file_of(const std::string& owner, const std::string& name) const {
  const auto digest = formats::digest_of(owner + "\n" + name);
  return directory_ / digest.substr(digest.find(':') + 1);
}

void Studies::put(const Caller& caller, const std::string& name, std::string_view json) const {
  const auto study = formats::parse_json(json, "the study", {.bytes = largest});
  check(study, name);
  const auto file = file_of(caller.user, name);
  write_file(fs::path(file).concat(".json"), json, 0600);
  write_file(fs::path(file).concat(".head"), formats::dump_json(head_of(study, caller)), 0600);
}

namespace {

bool may_see(const Value& head, const Caller& caller, const std::string& owner_of_hub) {
  const auto team = text_at(head, "team");
  return caller.user == owner_of_hub || caller.user == text_at(head, "owner") ||
         (!team.empty() && team == caller.team);
}

}  // namespace

std::string Studies::list(const Caller& caller) const {
  std::vector<Value> heads;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (entry.path().extension() == ".head")
      if (auto head = read_head(entry.path()); head && may_see(*head, caller, owner_))
        heads.push_back(std::move(*head));
  std::sort(heads.begin(), heads.end(), [](const Value& a, const Value& b) {
    return a.find("updated")->integer() > b.find("updated")->integer();
  });
  Table table;
  table.set("studies", formats::Array(heads.begin(), heads.end()));
  return formats::dump_json(table);
}

bool Studies::may_read(const Caller& caller, const std::string& owner, const std::string& name) const {
  if (caller.user == owner) return true;
  const auto head = read_head(fs::path(file_of(owner, name)).concat(".head"));
  return head && may_see(*head, caller, owner_);
}

std::optional<std::string> Studies::find(const Caller& caller, const std::string& owner,
                                         const std::string& name) const {
  const auto file = file_of(owner, name);
  const auto head = read_head(fs::path(file).concat(".head"));
  if (!head || !may_see(*head, caller, owner_)) return {};
  return read_file(fs::path(file).concat(".json"), largest);
}

}  // namespace longship::hub
