// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <sys/random.h>

#include <cerrno>
#include <numeric>

#include "base/error.h"
#include "formats/document.h"

namespace longship::launch {
namespace {

using formats::Array;
using formats::Fields;
using formats::Table;
using formats::Value;

Value words(const std::vector<std::string>& list) {
  Array array;
  for (const auto& word : list) array.emplace_back(word);
  return array;
}

Value variables(const Environment& environment) {
  Table table;
  for (const auto& [name, value] : environment) table.set(name, value);
  return table;
}

Environment read_variables(const Fields& fields, std::string_view key) {
  Environment environment;
  for (const auto& entry : fields.required(key).table()) environment[entry.key] = entry.value.text();
  return environment;
}

const formats::Choices<box::Writable> writable_names = {{"no", box::Writable::no},
                                                        {"temporary", box::Writable::temporary},
                                                        {"directory", box::Writable::directory}};

std::string_view name_of(box::Writable writable) {
  for (const auto& [name, value] : writable_names)
    if (value == writable) return name;
  return "no";
}

Value bind_to_value(const box::Bind& bind) {
  Table table;
  table.set("from", bind.from.string());
  table.set("to", bind.to.string());
  table.set("read_only", bind.read_only);
  table.set("optional", bind.optional);
  return table;
}

}  // namespace

formats::Value to_value(const Boxed& boxed) {
  const auto& spec = boxed.spec;
  Array binds;
  for (const auto& bind : spec.binds) binds.push_back(bind_to_value(bind));
  Table table;
  table.set("root", spec.root.string());
  table.set("binds", std::move(binds));
  table.set("home", spec.home);
  table.set("private_tmp", spec.private_tmp);
  table.set("writable", name_of(spec.writable));
  table.set("upper", spec.upper.string());
  table.set("unpacked", spec.unpacked.string());
  table.set("fake_root", spec.fake_root);
  table.set("working_directory", spec.working_directory);
  table.set("join", spec.join);
  table.set("environment", variables(boxed.environment));
  table.set("libc", boxed.libc);
  table.set("engine", name_of(boxed.engine));
  return table;
}

Boxed boxed_from(const Fields& owner, std::string_view key) {
  owner.required(key);
  const auto fields =
      *owner.table(key, {"root", "binds", "home", "private_tmp", "writable", "upper", "unpacked", "fake_root",
                         "working_directory", "join", "environment", "libc", "engine"});
  Boxed boxed;
  auto& spec = boxed.spec;
  spec.root = fields.text("root");
  for (const auto& bind : fields.tables("binds", {"from", "to", "read_only", "optional"}))
    spec.binds.push_back(
        {bind.text("from"), bind.text("to"), bind.flag("read_only", false), bind.flag("optional", false)});
  spec.home = fields.flag("home", true);
  spec.private_tmp = fields.flag("private_tmp", false);
  spec.writable = fields.choice("writable", writable_names, box::Writable::no);
  spec.upper = fields.text("upper");
  spec.unpacked = fields.text("unpacked");
  spec.fake_root = fields.flag("fake_root", false);
  spec.working_directory = fields.text("working_directory");
  spec.join = fields.text("join", "");
  boxed.environment = read_variables(fields, "environment");
  boxed.libc = fields.text("libc", "");
  boxed.engine = engine_named(fields.text("engine", "own"), "engine");
  return boxed;
}

int Plan::size() const {
  return std::accumulate(ranks.begin(), ranks.end(), 0);
}

int Plan::first_rank(int node) const {
  return std::accumulate(ranks.begin(), ranks.begin() + node, 0);
}

std::vector<int> spread(int ranks, int nodes) {
  std::vector<int> shares;
  for (int node = 0; node < nodes; ++node) shares.push_back(ranks / nodes + (node < ranks % nodes ? 1 : 0));
  return shares;
}

std::string make_secret() {
  unsigned char bytes[32];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw Error::from_errno(errno, "cannot get random numbers");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string to_json(const Plan& plan) {
  Array ranks;
  for (const int count : plan.ranks) ranks.emplace_back(count);
  Table table;
  table.set("command", words(plan.command));
  table.set("environment", variables(plan.environment));
  if (plan.box) table.set("box", to_value(*plan.box));
  table.set("ranks", std::move(ranks));
  table.set("threads_per_rank", plan.threads_per_rank);
  table.set("bind", plan.bind);
  table.set("mpi", plan.mpi);
  table.set("gpus_per_rank", plan.gpus_per_rank);
  table.set("directory", plan.directory.string());
  table.set("output", plan.output.string());
  table.set("record", plan.record.string());
  table.set("secret", plan.secret);
  table.set("grace_ms", plan.grace.count());
  return formats::dump_json(table);
}

Plan plan_from_json(std::string_view text) {
  const Value document = formats::parse_json(text, "plan");
  const Fields fields(document, "",
                      {"command", "environment", "box", "ranks", "threads_per_rank", "bind", "mpi",
                       "gpus_per_rank", "directory", "output", "record", "secret", "grace_ms"});
  Plan plan;
  plan.command = fields.words("command");
  plan.environment = read_variables(fields, "environment");
  if (fields.has("box")) plan.box = boxed_from(fields, "box");
  plan.ranks.clear();
  for (const auto& count : fields.required("ranks").array())
    plan.ranks.push_back(static_cast<int>(count.integer()));
  plan.threads_per_rank = static_cast<int>(fields.integer("threads_per_rank", {0, 1 << 20}));
  plan.bind = fields.flag("bind", true);
  plan.mpi = fields.flag("mpi", false);
  plan.gpus_per_rank = static_cast<int>(fields.integer("gpus_per_rank", {0, 1 << 20}, 0));
  plan.directory = fields.text("directory");
  plan.output = fields.text("output");
  plan.record = fields.text("record");
  plan.secret = fields.text("secret");
  plan.grace = std::chrono::milliseconds(fields.integer("grace_ms", {0, 3'600'000}));
  return plan;
}

}  // namespace longship::launch
