// SPDX-License-Identifier: Apache-2.0
// A site as text: a site file with comments, or JSON.
#include <algorithm>

#include "base/text.h"
#include "formats/document.h"
#include "formats/units.h"
#include "site.h"

namespace longship::site {
namespace {

using formats::Array;
using formats::Table;

std::string in_quotes(std::string_view text) {
  return formats::json_text(text);  // TOML's basic strings know the same escapes
}

std::string list(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (const auto& word : words) shown.push_back(in_quotes(word));
  return "[" + join(shown, ", ") + "]";
}

// In the largest unit that keeps it exact.
std::string size(std::uint64_t bytes) {
  for (const auto& [unit, name] : {std::pair{30, "GiB"}, std::pair{20, "MiB"}})
    if (bytes % (std::uint64_t{1} << unit) == 0) return fmt::format("\"{}{}\"", bytes >> unit, name);
  return std::to_string(bytes);
}

// An expression has double quotes in it more often than single ones.
std::string expression(const Expression& expression) {
  const auto& text = expression.text();
  return text.find('\'') == std::string::npos && text.find('\n') == std::string::npos ? "'" + text + "'"
                                                                                      : in_quotes(text);
}

class Writer {
 public:
  explicit Writer(const Comments& comments) : comments_(comments) {}

  void comment(std::string_view key) {
    const auto found = comments_.find(key);
    if (found == comments_.end()) return;
    for (const auto line : split(found->second, '\n'))
      text_ += line.empty() ? "#\n" : fmt::format("# {}\n", printable(line));
  }
  void table(std::string_view header, std::string_view key) {
    text_ += "\n";
    comment(key);
    text_ += fmt::format("{}\n", header);
    prefix_ = fmt::format("{}.", key);
  }
  void line(std::string_view key, std::string_view value) {
    comment(prefix_ + std::string(key));
    text_ += fmt::format("{} = {}\n", key, value);
  }
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) line(key, in_quotes(value));
  }
  void words(std::string_view key, const std::vector<std::string>& values) {
    if (!values.empty()) line(key, list(values));
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  const Comments& comments_;
  std::string text_, prefix_;
};

void write(Writer& to, const Node& node) {
  to.table("[node]", "node");
  to.text("arch", node.arch);
  to.line("cores", std::to_string(node.cores));
  if (node.memory > 0) to.line("memory", size(node.memory));
  to.line("gpus", std::to_string(node.gpus));
  to.text("local", node.local.string());
  to.line("network", node.network ? "true" : "false");
}

void write(Writer& to, const Host& host) {
  if (host == Host{}) return;
  to.table("[host]", "host");
  if (host.glibc) to.text("glibc", host.glibc->text());
  if (host.kernel) to.text("kernel", host.kernel->text());
  to.words("pmi", host.pmi);
  if (host.driver) to.text("driver", host.driver->text());
  if (!host.mpi) return;
  to.table("[host.mpi]", "host.mpi");
  to.text("family", host.mpi->family);
  to.text("version", host.mpi->version);
  to.text("library", host.mpi->library);
  if (host.mpi->glibc) to.text("glibc", host.mpi->glibc->text());
  if (host.mpi->let_in) to.line("let_in", "true");
}

void write(Writer& to, const Queue& queue) {
  to.table("[[queue]]", "queue." + queue.name);
  to.text("name", queue.name);
  if (queue.max_nodes > 0) to.line("max_nodes", std::to_string(queue.max_nodes));
  if (queue.max_walltime.count() > 0) to.text("max_walltime", formats::human_duration(queue.max_walltime));
  to.line("max_queued", std::to_string(queue.max_queued));
  if (!queue.accepts.text().empty()) to.line("accepts", expression(queue.accepts));
  to.text("account", queue.account);
  to.text("qos", queue.qos);
  to.words("setup", queue.setup);
  to.words("options", queue.options);
  if (queue.cores > 0) to.line("cores", std::to_string(queue.cores));
  if (queue.memory > 0) to.line("memory", size(queue.memory));
  if (queue.gpus) to.line("gpus", std::to_string(*queue.gpus));
}

void write(Writer& to, const Accept& accept) {
  to.table("[accept]", "accept");
  to.words("teams", accept.teams);
  to.words("users", accept.users);
  to.line("signed", accept.signed_only ? "true" : "false");
  to.line("shared", accept.shared ? "true" : "false");
}

Array words_of(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

Table table_of(const Node& node) {
  Table table;
  table.set("arch", node.arch);
  table.set("cores", node.cores);
  table.set("memory", node.memory);
  table.set("gpus", node.gpus);
  table.set("local", node.local.string());
  table.set("network", node.network);
  return table;
}

Table table_of(const Host& host) {
  Table table;
  if (host.glibc) table.set("glibc", host.glibc->text());
  if (host.kernel) table.set("kernel", host.kernel->text());
  table.set("pmi", words_of(host.pmi));
  if (host.driver) table.set("driver", host.driver->text());
  if (!host.mpi) return table;
  Table mpi;
  mpi.set("family", host.mpi->family);
  mpi.set("version", host.mpi->version);
  mpi.set("library", host.mpi->library);
  if (host.mpi->glibc) mpi.set("glibc", host.mpi->glibc->text());
  mpi.set("let_in", host.mpi->let_in);
  table.set("mpi", std::move(mpi));
  return table;
}

Table table_of(const Site& site, const Queue& queue) {
  Table table;
  table.set("name", queue.name);
  table.set("max_nodes", queue.max_nodes);
  table.set("max_walltime",
            queue.max_walltime.count() > 0 ? formats::human_duration(queue.max_walltime) : "");
  table.set("max_queued", queue.max_queued);
  table.set("accepts", queue.accepts.text());
  table.set("account", queue.account);
  table.set("qos", queue.qos);
  table.set("setup", words_of(queue.setup));
  table.set("options", words_of(queue.options));
  table.set("cores", cores_of(site, queue));
  table.set("memory", memory_of(site, queue));
  table.set("gpus", gpus_of(site, queue));
  return table;
}

}  // namespace

std::string to_toml(const Site& site, const Comments& comments) {
  Writer to(comments);
  to.comment("");
  to.line("version", std::to_string(file_version));
  to.text("name", site.name);
  to.text("batch", name_of(site.batch));
  to.text("spool", site.spool.string());
  to.text("store", site.store.string());
  to.text("engine", site.engine);
  write(to, site.node);
  write(to, site.host);
  for (const auto& queue : site.queues) write(to, queue);
  write(to, site.accept);
  return to.take();
}

std::string to_json(const Site& site) {
  Table table;
  table.set("version", file_version);
  table.set("name", site.name);
  table.set("batch", name_of(site.batch));
  table.set("spool", site.spool.string());
  table.set("store", site.store.string());
  table.set("engine", site.engine);
  table.set("node", table_of(site.node));
  table.set("host", table_of(site.host));
  Array queues;
  for (const auto& queue : site.queues) queues.emplace_back(table_of(site, queue));
  table.set("queue", std::move(queues));
  Table accept;
  accept.set("teams", words_of(site.accept.teams));
  accept.set("users", words_of(site.accept.users));
  accept.set("signed", site.accept.signed_only);
  accept.set("shared", site.accept.shared);
  table.set("accept", std::move(accept));
  return formats::dump_json(std::move(table), formats::Layout::pretty);
}

}  // namespace longship::site
