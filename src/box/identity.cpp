// SPDX-License-Identifier: Apache-2.0
#include "identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/error.h"
#include "base/text.h"
#include "small_file.h"

namespace longship::box {
namespace {

bool has_id(std::string_view line, std::string_view id) {
  const auto first = line.find(':');
  const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return false;
  const auto rest = line.substr(second + 1);
  return rest.substr(0, rest.find(':')) == id;
}

// The line whose third field is the id. Tables may be long, and each box looks into four.
std::optional<std::string_view> line_of(std::string_view table, unsigned id) {
  const std::string wanted = std::to_string(id);
  while (!table.empty()) {
    const auto line = table.substr(0, table.find('\n'));
    if (has_id(line, wanted)) return line;
    table.remove_prefix(std::min(line.size() + 1, table.size()));
  }
  return {};
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A name that can stand in a line of /etc/passwd.
bool is_name(std::string_view name) {
  return !name.empty() && name.find_first_of(":\n/ ") == std::string_view::npos;
}

std::optional<std::string> with_line(std::string_view table, unsigned id, const std::string& line) {
  if (line_of(table, id)) return {};
  std::string all(table);
  if (!all.empty() && !all.ends_with('\n')) all += '\n';
  return all + line + '\n';
}

}  // namespace

Caller find_caller() {
  Caller caller;
  caller.user = ::geteuid();
  caller.group = ::getegid();
  const std::string passwd = read_small_file("/etc/passwd").value_or("");
  const std::string groups = read_small_file("/etc/group").value_or("");
  caller.home = environment("HOME");
  if (const auto line = line_of(passwd, caller.user)) {
    const auto fields = split(*line, ':');
    caller.name = fields[0];
    if (caller.home.empty() && fields.size() > 5) caller.home = fields[5];
  } else {
    for (const char* variable : {"USER", "LOGNAME"})
      if (caller.name.empty() && is_name(environment(variable))) caller.name = environment(variable);
  }
  if (caller.name.empty()) caller.name = "user";
  const auto group = line_of(groups, caller.group);
  caller.group_name = group ? std::string(split(*group, ':')[0]) : caller.name;
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) != nullptr && here[0] == '/') caller.working_directory = here;
  return caller;
}

std::optional<std::string> passwd_with(std::string_view passwd, const Caller& caller) {
  return with_line(passwd, caller.user,
                   fmt::format("{}:x:{}:{}:{}:{}:/bin/sh", caller.name, caller.user, caller.group,
                               caller.name, caller.home.empty() ? "/" : caller.home));
}

std::optional<std::string> group_with(std::string_view group, const Caller& caller) {
  return with_line(group, caller.group, fmt::format("{}:x:{}:", caller.group_name, caller.group));
}

}  // namespace longship::box
