// SPDX-License-Identifier: Apache-2.0
#include "site.h"

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "formats/document.h"
#include "formats/fields.h"
#include "store/store.h"

namespace longship::site {
namespace {

using formats::Fields;

constexpr formats::Limits limits{.bytes = std::size_t{1} << 20, .depth = 16};

// An older program must say that it is older, before it calls the newer file's keys unknown.
void check_version(const formats::Value& document) {
  const Fields fields(document, "");
  if (!fields.has("version")) return;
  if (const auto version = fields.integer("version"); version != file_version)
    throw fields.wrong("version", "expected {}, found {}: this Longship knows no other", file_version,
                       version);
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || name.front() == '-' || name.front() == '.') return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.')) return false;
  return true;
}

// A line for a script or a word for a command: no line may become two, no word may end early.
void check_line(const Fields& fields, std::string_view key, std::string_view line) {
  for (const char c : line)
    if (c == '\n' || c == '\r' || c == '\0')
      throw fields.wrong(key, "\"{}\" is more than one line: write one entry for each", printable(line));
}

std::string read_line(const Fields& fields, std::string_view key) {
  auto line = fields.text(key, "");
  check_line(fields, key, line);
  return line;
}

std::vector<std::string> read_lines(const Fields& fields, std::string_view key) {
  auto lines = fields.words(key);
  for (const auto& line : lines) check_line(fields, key, line);
  return lines;
}

std::filesystem::path read_path(const Fields& fields, std::string_view key) {
  const auto path = read_line(fields, key);
  if (!path.starts_with('/'))
    throw fields.wrong(key, "expected an absolute path, found \"{}\"", printable(path));
  auto normal = std::filesystem::path(path).lexically_normal().string();
  if (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

int read_count(const Fields& fields, std::string_view key, formats::Range range, int fallback) {
  return static_cast<int>(fields.integer(key, range, fallback));
}

Node read_node(const Fields& site) {
  site.required("node");
  const auto fields = *site.table("node", {"arch", "cores", "memory", "gpus", "local", "network"});
  Node node;
  node.arch = fit::kernel_architecture(fields.text("arch"));
  if (node.arch.empty()) throw fields.wrong("arch", "expected an architecture, such as x86_64");
  fields.required("cores");
  node.cores = read_count(fields, "cores", {1, 8'192}, 1);
  node.memory = fields.bytes("memory", {"1MiB", "1PiB"}).value_or(0);
  node.gpus = read_count(fields, "gpus", {0, 1'024}, 0);
  if (fields.has("local")) node.local = read_path(fields, "local");
  node.network = fields.flag("network", false);
  return node;
}

std::optional<fit::Version> read_version(const Fields& fields, std::string_view key) {
  if (!fields.has(key)) return {};
  const auto text = fields.text(key);
  if (const auto version = fit::Version::parse(text)) return version;
  throw fields.wrong(key, "\"{}\" is not a version such as \"2.28\"", printable(text));
}

Host read_host(const Fields& site) {
  Host host;
  const auto fields = site.table("host", {"glibc", "kernel", "pmi", "driver", "mpi"});
  if (!fields) return host;
  host.glibc = read_version(*fields, "glibc");
  host.driver = read_version(*fields, "driver");
  host.kernel = read_version(*fields, "kernel");
  host.pmi = read_lines(*fields, "pmi");
  const auto mpi = fields->table("mpi", {"family", "version", "library", "glibc", "let_in"});
  if (!mpi) return host;
  mpi->required("family");
  host.mpi.emplace();
  host.mpi->family =
      mpi->choice<std::string_view>("family", {{"openmpi", "openmpi"}, {"mpich", "mpich"}}, "");
  host.mpi->version = read_line(*mpi, "version");
  if (mpi->has("library")) host.mpi->library = read_path(*mpi, "library").string();
  host.mpi->glibc = read_version(*mpi, "glibc");
  host.mpi->let_in = mpi->flag("let_in", false);
  return host;
}

Queue read_queue(const Fields& fields, const Site& site) {
  Queue queue;
  queue.name = fields.text("name");
  check_line(fields, "name", queue.name);
  if (queue.name.empty() || queue.name.find_first_of(" ,") != std::string::npos)
    throw fields.wrong("name", "\"{}\" is not the name of a queue", printable(queue.name));
  const bool local = site.batch == Batch::local;
  queue.max_nodes = read_count(fields, "max_nodes", {1, local ? 1 : 1'000'000}, local ? 1 : 0);
  queue.max_walltime = fields.duration("max_walltime", {"1m", "3650d"}).value_or(std::chrono::seconds(0));
  queue.max_queued = read_count(fields, "max_queued", {1, 100'000}, local ? site.node.cores : 4);
  if (fields.has("accepts")) {
    try {
      queue.accepts = Expression(fields.text("accepts"));
    } catch (const Error& error) {
      throw fields.wrong("accepts", "{}", error.what());
    }
  }
  queue.account = read_line(fields, "account");
  queue.qos = read_line(fields, "qos");
  queue.setup = read_lines(fields, "setup");
  queue.options = read_lines(fields, "options");
  if (local)
    for (const auto key : {"account", "qos", "options"})
      if (fields.has(key)) throw fields.wrong(key, "batch = \"local\" has no batch system to give it to");
  queue.cores = read_count(fields, "cores", {1, 8'192}, 0);
  queue.memory = fields.bytes("memory", {"1MiB", "1PiB"}).value_or(0);
  if (fields.has("gpus")) queue.gpus = read_count(fields, "gpus", {0, 1'024}, 0);
  return queue;
}

std::vector<Queue> read_queues(const Fields& fields, const Site& site) {
  std::vector<Queue> queues;
  std::set<std::string> names;
  for (const auto& queue :
       fields.tables("queue", {"name", "max_nodes", "max_walltime", "max_queued", "accepts", "account", "qos",
                               "setup", "options", "cores", "memory", "gpus"})) {
    queues.push_back(read_queue(queue, site));
    if (!names.insert(queues.back().name).second)
      throw queue.wrong("name", "there is another queue \"{}\"", printable(queues.back().name));
  }
  if (queues.empty() && site.batch != Batch::local)
    throw fields.wrong("queue", "missing: batch = \"{}\" needs at least one [[queue]]", name_of(site.batch));
  if (queues.empty()) queues.push_back({.name = "local", .max_nodes = 1, .max_queued = site.node.cores});
  return queues;
}

Accept read_accept(const Fields& site) {
  Accept accept;
  const auto fields = site.table("accept", {"teams", "users", "signed", "shared"});
  if (!fields) return accept;
  accept.teams = read_lines(*fields, "teams");
  accept.users = read_lines(*fields, "users");
  accept.signed_only = fields->flag("signed", false);
  accept.shared = fields->flag("shared", false);
  if (accept.shared || accept.teams.size() + accept.users.size() <= 1) return accept;
  throw fields->wrong(accept.teams.empty() ? "users" : "teams",
                      "one Unix account would run jobs of several: say shared = true if that is meant");
}

// Read before the tables, which depend on it.
void read_head(const Fields& fields, Site& site) {
  site.name = fields.text("name");
  if (!is_name(site.name))
    throw fields.wrong("name", "\"{}\" is not a site's name: up to 63 small letters, digits and . _ -",
                       printable(site.name));
  fields.required("batch");
  site.batch = fields.choice<Batch>(
      "batch", {{"local", Batch::local}, {"slurm", Batch::slurm}, {"lsf", Batch::lsf}, {"pbs", Batch::pbs}},
      Batch::local);
  fields.required("spool");
  site.spool = read_path(fields, "spool");
  if (fields.has("store"))
    site.store = read_path(fields, "store");
  else
    site.store = site.batch == Batch::local ? store::default_location() : site.spool / "store";
  site.engine = fields.choice<std::string_view>("engine",
                                                {{"own", "own"},
                                                 {"apptainer", "apptainer"},
                                                 {"sarus", "sarus"},
                                                 {"podman", "podman"},
                                                 {"podman-hpc", "podman-hpc"}},
                                                "own");
}

}  // namespace

std::string_view name_of(Batch batch) {
  switch (batch) {
    case Batch::local:
      return "local";
    case Batch::slurm:
      return "slurm";
    case Batch::lsf:
      return "lsf";
    case Batch::pbs:
      return "pbs";
  }
  return "";
}

Site parse(std::string_view text, std::string_view origin) {
  const auto document = formats::parse_toml(text, origin, limits);
  check_version(document);
  const Fields fields(
      document, "",
      {"version", "name", "batch", "spool", "store", "engine", "node", "host", "queue", "accept"});
  fields.required("version");
  Site site;
  read_head(fields, site);
  site.node = read_node(fields);
  site.host = read_host(fields);
  site.queues = read_queues(fields, site);
  site.accept = read_accept(fields);
  return site;
}

Site load(const std::filesystem::path& file) {
  return parse(read_file(file, limits.bytes), file.string());
}

const Queue* find_queue(const Site& site, std::string_view name) {
  for (const auto& queue : site.queues)
    if (queue.name == name) return &queue;
  return nullptr;
}

}  // namespace longship::site
