// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <algorithm>
#include <array>

#include "answers.h"
#include "base/error.h"
#include "base/text.h"
#include "fit/cuda.h"
#include "formats/units.h"
#include "store/store.h"

namespace longship::site {
namespace {

namespace fs = std::filesystem;

// Of what a machine calls itself, what a site may be called.
std::string site_name(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, name.find('.'))) {
    const bool large = c >= 'A' && c <= 'Z';
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    plain += large ? static_cast<char>(c - 'A' + 'a') : good ? c : '-';
  }
  plain.erase(0, plain.find_first_not_of('-'));
  return plain.empty() ? "site" : plain.substr(0, 63);
}

std::string variable(const Answers& answers, std::string_view name) {
  const auto found = answers.environment.find(name);
  return found == answers.environment.end() || !found->second.starts_with('/') ? "" : found->second;
}

// Centres differ in what they call their large file system.
constexpr std::array<const char*, 6> shared_places = {"SCRATCH",  "WORK",       "WORKDIR",
                                                      "PSCRATCH", "MEMBERWORK", "HOME"};

fs::path spool_for(Batch batch, const Answers& answers) {
  if (batch == Batch::local) {
    if (const auto data = variable(answers, "XDG_DATA_HOME"); !data.empty())
      return fs::path(data) / "longship" / "spool";
    if (const auto home = variable(answers, "HOME"); !home.empty())
      return fs::path(home) / ".local/share/longship/spool";
  } else {
    for (const auto* place : shared_places)
      if (const auto path = variable(answers, place); !path.empty()) return fs::path(path) / "longship";
  }
  throw Error(Failure::impossible, "there is no place for a spool: give one with --spool, or set HOME");
}

std::vector<Partition> usable_partitions(const Answers& answers) {
  auto partitions = parse_sinfo(answers.sinfo.value_or(""));
  std::erase_if(partitions, [](const Partition& one) { return !one.up || one.nodes == 0 || one.cores == 0; });
  return partitions;
}

// The nodes that most jobs will see.
const Partition& usual(const std::vector<Partition>& partitions) {
  for (const auto& partition : partitions)
    if (partition.is_default) return partition;
  return *std::max_element(partitions.begin(), partitions.end(),
                           [](const auto& a, const auto& b) { return a.nodes < b.nodes; });
}

Queue queue_of(const Partition& partition, const Node& node) {
  Queue queue;
  queue.name = partition.name;
  queue.max_nodes = partition.max_nodes;
  queue.max_walltime = partition.max_walltime;
  if (partition.cores != node.cores) queue.cores = partition.cores;
  if (partition.memory != node.memory) queue.memory = partition.memory;
  if (partition.gpus != node.gpus) queue.gpus = partition.gpus;
  return queue;
}

void understand_slurm(const Answers& answers, Site& site) {
  const auto partitions = usable_partitions(answers);
  if (partitions.empty())
    throw Error(Failure::impossible,
                "Slurm does not answer here, or no partition of it is up: look at \"sinfo\"");
  const auto& main = usual(partitions);
  site.node.cores = main.cores;
  site.node.memory = main.memory;
  site.node.gpus = main.gpus;
  site.host.pmi = parse_mpi_plugins(answers.mpi_plugins.value_or(""));
  for (const auto& partition : partitions) site.queues.push_back(queue_of(partition, site.node));
}

void understand_machine(const Answers& answers, Site& site) {
  site.node.cores = answers.cores;
  site.node.memory = answers.memory;
  site.node.gpus = answers.gpus;
  site.node.network = true;
  site.queues.push_back({.name = "local", .max_nodes = 1, .max_queued = answers.cores});
}

std::string engine_comment(const Answers& answers) {
  std::string comment =
      "own: Longship's boxes, which need user namespaces on the nodes. Or the centre's: apptainer | sarus | "
      "podman | podman-hpc";
  if (!answers.user_namespaces)
    comment += answers.engines.empty()
                   ? ".\nUser namespaces are off on this machine, and none of those was found: \"longship "
                     "doctor\" tells what to ask for."
                   : fmt::format(".\nUser namespaces are off on this machine. Found: {}.",
                                 join(answers.engines, ", "));
  return comment;
}

Comments comments_for(const Site& site, const Answers& answers) {
  const bool slurm = site.batch == Batch::slurm;
  Comments comments;
  comments[""] = fmt::format(
      "The site {}, as \"longship site probe\" found it on {}.\nPlease check each line: a person knows more "
      "than a program can see. docs/formats/site.md explains all keys.",
      site.name, answers.host);
  comments["batch"] = "local | slurm | lsf | pbs";
  if (!slurm && !answers.other_batch.empty())
    comments["batch"] += fmt::format(". {} is installed here, but not supported yet.", answers.other_batch);
  comments["spool"] = slurm ? "On a file system that login and compute nodes share, and that nobody cleans "
                              "up while jobs wait or run."
                            : "Where agent and jobs of this machine meet.";
  comments["store"] =
      slurm ? "Images are copied here once; compute nodes read them from here." : "Where your images are.";
  comments["engine"] = engine_comment(answers);
  if (slurm) comments["node.arch"] = "Of this machine: compute nodes may differ.";
  comments["node.cores"] =
      slurm ? "As Slurm counts CPUs: with hyper-threading these are threads." : "Those this process may use.";
  if (slurm) comments["node.local"] = "A disk of the node's own, for data that jobs stage.";
  comments["node.network"] = slurm ? "Can a compute node reach the outside? Longship itself does not need it."
                                   : "Can jobs reach the outside?";
  comments["host"] = "Of this machine: images are checked against it before they travel.";
  comments["host.mpi"] = "The MPI whose ABI images have to fit: openmpi | mpich (also Intel's and Cray's).";
  for (const auto& queue : site.queues) {
    auto& comment = comments["queue." + queue.name];
    comment =
        slurm ? fmt::format("Partition {}.", queue.name) : "One job after another, as many at a time as fit.";
    if (slurm && queue.max_walltime.count() == 0) comment += " It has no time limit.";
    if (slurm)
      comment +=
          "\nFurther keys: account, qos, accepts = 'nodes >= 2', setup = [\"module load …\"], options = "
          "[\"--constraint=…\"].";
  }
  comments["accept"] = fmt::format(
      "Whose jobs run under this account. Nobody named: of everyone whom the hub knows.\n"
      "To take only your own:  users = [{}]     of a team:  teams = [\"…\"]     of several: also shared = "
      "true",
      answers.user.empty() ? "\"…\"" : fmt::format("\"{}\"", answers.user));
  return comments;
}

}  // namespace

std::optional<HostMpi> mpi_of(const Answers& answers) {
  auto mpi = parse_mpi_version(answers.mpirun.value_or(""));
  if (!mpi) mpi = parse_mpi_version(answers.mpichversion.value_or(""));
  if (!mpi) return mpi;
  mpi->library = find_mpi_library(answers.libraries.value_or(""), mpi->family);
  mpi->glibc = answers.mpi_glibc;
  return mpi;
}

Site understand(const Answers& answers, const ProbeOptions& options) {
  Site site;
  const bool slurm_answers = !usable_partitions(answers).empty();
  site.batch = options.batch.value_or(slurm_answers ? Batch::slurm : Batch::local);
  if (site.batch != Batch::slurm && site.batch != Batch::local)
    throw Error(Failure::impossible, "batch = \"{}\" is not supported yet: use \"slurm\" or \"local\"",
                name_of(site.batch));
  const auto config = parse_config(answers.config.value_or(""));
  const auto cluster = config.find("ClusterName");
  const bool named = site.batch == Batch::slurm && cluster != config.end();
  site.name = !options.name.empty() ? options.name : site_name(named ? cluster->second : answers.host);
  site.spool = options.spool.empty() ? spool_for(site.batch, answers) : options.spool;
  site.store = site.batch == Batch::local ? store::default_location() : site.spool / "store";
  if (!answers.user_namespaces && !answers.engines.empty()) site.engine = answers.engines[0];
  site.node.arch = answers.architecture;
  site.host.kernel = fit::Version::parse(answers.kernel);
  if (answers.glibc.starts_with("glibc "))
    site.host.glibc = fit::Version::parse(std::string_view(answers.glibc).substr(6));
  site.host.mpi = mpi_of(answers);
  site.host.driver = fit::driver_in(answers.driver.value_or(""));
  if (site.batch == Batch::slurm)
    understand_slurm(answers, site);
  else
    understand_machine(answers, site);
  return site;
}

std::string write(const Site& site, const Answers& answers) {
  auto text = to_toml(site, comments_for(site, answers));
  (void)parse(text, "the site file that was found");  // a name that was given may be none
  return text;
}

std::string probe(const ProbeOptions& options) {
  const auto answers = look();
  return write(understand(answers, options), answers);
}

}  // namespace longship::site
