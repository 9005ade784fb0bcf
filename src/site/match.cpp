// SPDX-License-Identifier: Apache-2.0
#include "match.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "formats/units.h"
#include "variants.h"

namespace longship::site {
namespace {

using formats::human_bytes;
using formats::human_duration;

Verdict no(std::string reason, std::string remedy = {}) {
  return {false, std::move(reason), std::move(remedy), {}};
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// A clause looks at one thing and says what does not fit, or nothing.
struct Question {
  const job::Job& job;
  const Requester& requester;
  const Site& site;
  const Queue& queue;
};
using Complaint = std::optional<Verdict>;

Complaint judge_requester(const Question& asked) {
  if (auto reason = refusal(asked.requester, asked.site))
    return no(std::move(*reason), "[accept] of its site file says whose jobs it takes");
  return {};
}

Complaint judge_launch(const Question& asked) {
  if (asked.job.launch == job::Launch::spark)
    return no("launch = \"spark\" is not there yet", "use \"ranks\" or \"mpi\"");
  if (asked.job.launch == job::Launch::mpi && asked.job.image.empty() && !asked.site.host.mpi)
    return no(
        fmt::format("launch = \"mpi\" without an image needs an MPI of the site, and {} has none",
                    asked.site.name),
        "give the job an image with an MPI in it, or name the site's under [host.mpi] of its site file");
  return {};
}

Complaint judge_nodes(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  if (queue.max_nodes == 0 || job.needs.nodes <= queue.max_nodes) return {};
  return no(fmt::format("needs {}, queue {} has at most {}", counted(job.needs.nodes, "node"), queue.name,
                        queue.max_nodes),
            fmt::format("--set needs.nodes={}", queue.max_nodes));
}

Complaint judge_walltime(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  if (queue.max_walltime.count() == 0 || job.needs.walltime <= queue.max_walltime) return {};
  const auto most = human_duration(queue.max_walltime);
  return no(fmt::format("needs a walltime of {}, queue {} allows at most {}",
                        human_duration(job.needs.walltime), queue.name, most),
            fmt::format("--set needs.walltime={}, and [checkpoint] for the rest", most));
}

Complaint judge_cores(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  const int given = cores_of(site, queue);
  const int wanted = job.needs.ranks_per_node * std::max(1, job.needs.threads_per_rank);
  if (wanted <= given) return {};
  const auto threads = job.needs.threads_per_rank > 1
                           ? fmt::format(" × {}", counted(job.needs.threads_per_rank, "thread"))
                           : std::string();
  return no(fmt::format("needs {} cores on a node ({}{}), nodes of queue {} have {}", wanted,
                        counted(job.needs.ranks_per_node, "rank"), threads, queue.name, given),
            "fewer ranks_per_node or threads_per_rank, on more nodes");
}

Complaint judge_memory(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  const auto given = memory_of(site, queue);
  if (given == 0 || job.needs.memory_per_node <= given) return {};
  return no(fmt::format("needs {} of memory on a node, nodes of queue {} have {}",
                        human_bytes(job.needs.memory_per_node), queue.name, human_bytes(given)),
            "fewer ranks_per_node on more nodes need less memory on each");
}

Complaint judge_gpus(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  const int wanted = job.needs.ranks_per_node * job.needs.gpus_per_rank, given = gpus_of(site, queue);
  if (wanted <= given) return {};
  if (given == 0)
    return no(
        fmt::format("needs {} on a node, nodes of queue {} have none", counted(wanted, "GPU"), queue.name));
  return no(
      fmt::format("needs {} on a node, nodes of queue {} have {}", counted(wanted, "GPU"), queue.name, given),
      fmt::format("at most {} ranks_per_node fit", given / job.needs.gpus_per_rank));
}

// Nobody pays who was not asked.
Complaint judge_account(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  if (!job.account.empty() && !queue.account.empty() && job.account != queue.account)
    return no(fmt::format("is to be paid by account {}, queue {} by {}", printable(job.account), queue.name,
                          queue.account),
              "leave account out of the job file, or add a queue with this account to the site file");
  if (site.batch == Batch::lsf && job.account.empty() && queue.account.empty())
    return no(
        fmt::format("queue {} needs an account that pays, and neither job nor queue names one", queue.name),
        "--set account=NAME");
  return {};
}

Complaint judge_expression(const Question& asked) {
  const auto& [job, requester, site, queue] = asked;
  if (queue.accepts.text().empty()) return {};
  const auto ranks = job::ranks(job.needs);
  const Asked facts{.nodes = job.needs.nodes,
                    .ranks = ranks,
                    .gpus = std::int64_t{ranks} * job.needs.gpus_per_rank,
                    .walltime = job.needs.walltime.count(),
                    .memory = static_cast<std::int64_t>(job.needs.memory_per_node),
                    .account = job.account.empty() ? queue.account : job.account,
                    .team = requester.team,
                    .name = job.name};
  if (queue.accepts.accepts(facts)) return {};
  return no(fmt::format("queue {} accepts only {}, and this job has {}", queue.name, queue.accepts.text(),
                        queue.accepts.facts(facts)));
}

constexpr std::array clauses = {judge_requester, judge_launch, judge_nodes,   judge_walltime,  judge_cores,
                                judge_memory,    judge_gpus,   judge_account, judge_expression};

bool has(const std::vector<std::string>& names, std::string_view name) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Verdict match(const job::Job& job, const Requester& requester, const Site& site, const Queue& queue,
              std::span<const Variant> variants) {
  const Question question{job, requester, site, queue};
  for (const auto clause : clauses)
    if (auto complaint = clause(question)) return std::move(*complaint);
  if (job.image.empty()) return {true, {}, {}, {}};
  return choose_variant(job, site, variants);
}

std::optional<std::string> refusal(const Requester& requester, const Site& site) {
  const auto& accept = site.accept;
  if (accept.teams.empty() && accept.users.empty()) return {};
  if (has(accept.users, requester.user) || has(accept.teams, requester.team)) return {};
  std::string takes;
  if (!accept.teams.empty())
    takes = fmt::format("{} {}", accept.teams.size() == 1 ? "team" : "teams", join(accept.teams, ", "));
  if (!accept.users.empty())
    takes += fmt::format("{}{} {}", takes.empty() ? "" : " and ", accept.users.size() == 1 ? "user" : "users",
                         join(accept.users, ", "));
  return fmt::format("site {} takes jobs of {} only, this one is {}'s{}", site.name, takes,
                     printable(requester.user),
                     requester.team.empty() ? "" : fmt::format(" of team {}", printable(requester.team)));
}

NodeShare share_of(const job::Needs& needs) {
  return {needs.ranks_per_node * needs.threads_per_rank, needs.ranks_per_node * needs.gpus_per_rank,
          needs.memory_per_node};
}

}  // namespace longship::site
