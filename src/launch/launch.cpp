// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace longship::launch {

Result run_here(const Plan& plan, Surroundings& surroundings) {
  const Bound bound = bind_rendezvous("127.0.0.1");
  return run_node(plan, 0, name_of_this_node(), bound.at, &bound, surroundings);
}

void tell(const Result& result) {
  switch (result.cause) {
    case Cause::finished:
      return;
    case Cause::stopped:
      return note("all ranks were stopped");
    case Cause::signal:
      return note("interrupted: all ranks were stopped");
    case Cause::rank_failed:
      break;
  }
  if (!result.failure)
    return complain(
        fmt::format("the MPI ended all ranks, with exit code {}: a rank called MPI_Abort, or was lost",
                    result.exit_code));
  std::string text = result.failure->sentence();
  if (!result.failure->last_lines.empty()) text += "; the last it said on stderr:";
  complain(text);
  for (const auto line : split(trim(result.failure->last_lines), '\n'))
    if (!line.empty()) note("  {}", printable(line));
}

std::string name_of_this_node() {
  if (const char* name = std::getenv("SLURMD_NODENAME"); name != nullptr && *name != '\0') return name;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace longship::launch
