// SPDX-License-Identifier: Apache-2.0
#include "limits.h"

#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

namespace longship::launch {
namespace {

constexpr std::uint64_t for_the_launcher = 32;  // its keeper, signals, mounts
// Two pipes with two ends each, until all ranks have started and only the reading ends are left; two files.
constexpr std::uint64_t of_pipes = 4, of_files = 2;

rlimit limit_of(int what) {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(what, &limit);
  return limit;
}

std::uint64_t ranks_within(std::uint64_t limit, std::uint64_t taken, std::uint64_t each) {
  return limit > taken ? (limit - taken) / each : 0;
}

}  // namespace

OpenFiles open_files_of_this_process() {
  const auto limit = limit_of(RLIMIT_NOFILE);
  std::error_code problem;
  const std::filesystem::directory_iterator files("/proc/self/fd", problem);
  const auto open = problem ? 0 : std::distance(begin(files), end(files));
  return {limit.rlim_cur, limit.rlim_max, static_cast<std::uint64_t>(open)};
}

std::optional<std::string> lack_of_files(const OpenFiles& there, std::uint64_t ranks, bool to_files) {
  const auto each = of_pipes + (to_files ? of_files : 0), taken = there.open + for_the_launcher;
  const auto fit = ranks_within(there.limit, taken, each);
  if (ranks <= fit) return {};
  const auto needed = taken + ranks * each, fit_at_most = ranks_within(there.hard_limit, taken, each);
  std::string remedy = "the hard limit is no higher: use more nodes, or have it raised";
  if (needed <= there.hard_limit)
    remedy = fmt::format("raise it with `ulimit -n {}`", needed);
  else if (fit_at_most > fit)
    remedy = fmt::format("{} fit after `ulimit -n {}`, the hard limit; for more use more nodes", fit_at_most,
                         there.hard_limit);
  return fmt::format(
      "{} ranks are too many for this node: each takes {} open files of its launcher, and with a limit of {} "
      "(RLIMIT_NOFILE) {} ranks fit; {}",
      ranks, each, there.limit, fit, remedy);
}

Error cannot_fork(int number, std::size_t started, std::size_t ranks) {
  if (number != EAGAIN)
    return Error::from_errno(number, "cannot start rank {} of {} here", started + 1, ranks);
  const auto limit = limit_of(RLIMIT_NPROC).rlim_cur;
  return Error(
      Failure::impossible,
      "{} ranks are too many for this node: after {} no further process is allowed, by the limit of "
      "this user ({}, `ulimit -u`), by pids.max of a control group, or by the kernel; raise that limit, "
      "or use more nodes",
      ranks, started, limit == RLIM_INFINITY ? "none" : fmt::format("RLIMIT_NPROC {}", limit));
}

}  // namespace longship::launch
